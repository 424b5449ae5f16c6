"""Why the API refuses a request, in Chinese, by the code of the problem. What it says beyond that is English."""

from __future__ import annotations

_PROBLEMS: dict[str, tuple[str, str]] = {
    "not-parsed": ("无法解析请求", "無法解析請求"),
    "unauthorized": ("缺少令牌，或令牌错误", "缺少權杖，或權杖錯誤"),
    "forbidden": ("不允许此请求", "不允許此請求"),
    "wrong-host": ("服务器使用另一个名称", "伺服器使用另一個名稱"),
    "cross-site": ("请求来自其他网站的页面", "請求來自其他網站的頁面"),
    "session-key": ("会话的密钥缺失或错误，请重新登录", "工作階段的金鑰缺失或錯誤，請重新登入"),
    "from-inside": ("循环中的进程不得控制循环", "迴圈中的行程不得控制迴圈"),
    "reply-refused": ("回复令牌无效", "回覆權杖無效"),
    "not-found": ("此地址没有内容", "此位址沒有內容"),
    "loop-not-found": ("没有这个循环", "沒有這個迴圈"),
    "token-not-found": ("没有这个令牌", "沒有這個權杖"),
    "method-not-allowed": ("此地址不支持此方法", "此位址不支援此方法"),
    "too-slow": ("请求内容传输太慢", "請求內容傳輸太慢"),
    "wrong-state": ("循环目前的状态不允许此操作", "迴圈目前的狀態不允許此操作"),
    "budget-used-up": ("循环的一项限额已用完：请先增加", "迴圈的一項限額已用完：請先增加"),
    "loop-busy": ("另一个进程正在运行此循环", "另一個行程正在執行此迴圈"),
    "not-ours": ("此循环不是由本安装写入的", "此迴圈不是由本安裝寫入的"),
    "token-exists": ("已有同名的令牌", "已有同名的權杖"),
    "idempotency-key-in-use": ("使用此键的第一个请求仍在处理中", "使用此鍵的第一個請求仍在處理中"),
    "precondition-failed": ("循环已被更改", "迴圈已被變更"),
    "too-large": ("请求内容过大", "請求內容過大"),
    "unsupported-media-type": ("请求内容不是 JSON", "請求內容不是 JSON"),
    "not-valid": ("有内容不正确", "有內容不正確"),
    "agent-missing": ("无法使用该代理的程序", "無法使用該代理的程式"),
    "idempotency-key-reused": ("此键已用于另一个请求", "此鍵已用於另一個請求"),
    "too-many-requests": ("请求过多", "請求過多"),
    "defect": ("这是 untildone 的缺陷", "這是 untildone 的缺陷"),
    "unavailable": ("目前无法读取或写入状态", "目前無法讀取或寫入狀態"),
    "too-many-streams": ("打开的事件流过多", "開啟的事件流過多"),
}
_PREFIX = "problem: "
TEXTS = {f"{_PREFIX}{code}": words for code, words in _PROBLEMS.items()}


def key_of(code: str) -> str:
    """The key of a problem among the texts."""
    return f"{_PREFIX}{code}"


CODES = tuple(_PROBLEMS)
