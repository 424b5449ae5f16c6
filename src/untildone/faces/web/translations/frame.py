"""The words of the frame and of error pages in Chinese."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "Inbox": ("收件箱", "收件匣"),
    "Money": ("费用", "費用"),
    "Skip to the content": ("跳到内容", "跳到內容"),
    "Main": ("主要", "主要"),
    "Log out": ("退出登录", "登出"),
    "Commands": ("命令", "指令"),
    "The server cannot be reached. What you typed is kept; try again in a moment.": (
        "无法连接服务器。你输入的内容已保留，请稍后再试。",
        "無法連線到伺服器。你輸入的內容已保留，請稍後再試。",
    ),
    "The connection is lost; trying again…": ("连接已断开，正在重试…", "連線已中斷，正在重試…"),
    "One round was run, as asked; nothing verified it.": (
        "已按要求运行一轮；没有经过验证。",
        "已按要求執行一輪；沒有經過驗證。",
    ),
    "There is no such loop.": ("没有这个循环。", "沒有這個迴圈。"),
    "It was deleted, or the address is not right.": ("它已被删除，或地址不正确。", "它已被刪除，或網址不正確。"),
    "There is no such page.": ("没有这个页面。", "沒有這個頁面。"),
    "This cannot be shown (status {status}).": ("无法显示（状态 {status}）。", "無法顯示（狀態 {status}）。"),
    "To the inbox": ("回到收件箱", "回到收件匣"),
    "Copied": ("已复制", "已複製"),
    "Copy": ("复制", "複製"),
    "Yes": ("是", "是"),
    "{n} s ago": ("{n} 秒前", "{n} 秒前"),
    "{n} s": ("{n} 秒", "{n} 秒"),
    "{n} min": ("{n} 分钟", "{n} 分鐘"),
    "{n} h": ("{n} 小时", "{n} 小時"),
}
