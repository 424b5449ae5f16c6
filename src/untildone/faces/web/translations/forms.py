"""The words of the forms, the settings, the tokens and the reply page in Chinese."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "What you typed before is here again.": ("您之前输入的内容已恢复。", "您先前輸入的內容已還原。"),
    "This browser keeps no drafts: what you type is lost if you leave.": (
        "此浏览器不保存草稿：离开页面后输入的内容会丢失。",
        "此瀏覽器不儲存草稿：離開頁面後輸入的內容會遺失。",
    ),
    "The server cannot be reached. What you typed is kept in this browser: try again when it is back. It happens only once.": (
        "无法连接服务器。内容没有丢失：您输入的内容保存在此浏览器中。服务器恢复后请重试；不会重复执行。",
        "無法連線到伺服器。內容沒有遺失：您輸入的內容保存在此瀏覽器中。伺服器恢復後請重試；不會重複執行。",
    ),
    "Say what is to be done.": ("请说明要做什么。", "請說明要做什麼。"),
    "This is not a number.": ("这不是数字。", "這不是數字。"),
    "This is not a whole number.": ("这不是整数。", "這不是整數。"),
    "'{line}' is not of the form NAME=value.": (
        "“{line}”不是 NAME=value 的形式。",
        "「{line}」不是 NAME=value 的形式。",
    ),
    "Like {loop}: change what is to be different.": (
        "与 {loop} 相同：请修改需要不同的部分。",
        "與 {loop} 相同：請修改需要不同的部分。",
    ),
    "Show it": ("查看", "檢視"),
    "Discard": ("放弃", "捨棄"),
    "This form needs JavaScript.": ("此表单需要 JavaScript。", "此表單需要 JavaScript。"),
    "Check": ("检查", "檢查"),
    "Remove": ("移除", "移除"),
    "Add a check": ("添加检查", "新增檢查"),
    "used before": ("曾经使用", "曾經使用"),
    "not installed": ("未安装", "未安裝"),
    "Not on this machine. To install it: {how}": ("本机没有安装。安装方法：{how}", "本機沒有安裝。安裝方法：{how}"),
    "Set by {variable} in the environment, which wins over the file.": (
        "由环境变量 {variable} 设置，优先于文件。",
        "由環境變數 {variable} 設定，優先於檔案。",
    ),
    "From your own settings file.": ("来自您自己的设置文件。", "來自您自己的設定檔。"),
    "Set in this file.": ("在此文件中设置。", "在此檔案中設定。"),
    "Remove from the file": ("从文件中移除", "從檔案中移除"),
    "Not saved yet": ("尚未保存", "尚未儲存"),
    "Your answer, which was not sent": ("您的回答（未发送）", "您的回答（未傳送）"),
    "This address cannot be used.": ("此地址无法使用。", "此位址無法使用。"),
    "This is a defect of untildone, not of your request.": (
        "这是 untildone 的缺陷，不是您的请求有误。",
        "這是 untildone 的缺陷，不是您的請求有誤。",
    ),
    # Tokens
    "Access tokens": ("访问令牌", "存取權杖"),
    "For programs and other devices. A token is shown once, when it is made.": (
        "供程序和其他设备使用。令牌只在创建时显示一次。",
        "供程式和其他裝置使用。權杖只在建立時顯示一次。",
    ),
    "There are no named tokens yet.": ("还没有已命名的令牌。", "還沒有已命名的權杖。"),
    "Name": ("名称", "名稱"),
    "Scope": ("权限", "權限"),
    "Made": ("创建时间", "建立時間"),
    "Revoke": ("撤销", "撤銷"),
    "Revoke the token {name}? What uses it is refused at once.": (
        "撤销令牌 {name}？使用它的程序会立即被拒绝。",
        "撤銷權杖 {name}？使用它的程式會立即被拒絕。",
    ),
    "Make a token": ("创建令牌", "建立權杖"),
    "A new token": ("新令牌", "新權杖"),
    "read: look at everything": ("read：查看一切", "read：檢視一切"),
    "control: create and steer loops": ("control：创建和控制循环", "control：建立和控制迴圈"),
    "admin: settings and tokens as well": ("admin：还包括设置和令牌", "admin：還包括設定和權杖"),
    "This is the token {name}. It is shown only now: copy it.": (
        "这是令牌 {name}。它只显示这一次：请复制。",
        "這是權杖 {name}。它只顯示這一次：請複製。",
    ),
    "You are here as {name} with the scope {scope}: tokens need the scope admin.": (
        "您以 {name} 身份登录，权限为 {scope}：管理令牌需要 admin 权限。",
        "您以 {name} 身分登入，權限為 {scope}：管理權杖需要 admin 權限。",
    ),
    "Another device": ("其他设备", "其他裝置"),
    "A link that logs a browser in, once and within 15 minutes.": (
        "让浏览器登录的链接，15 分钟内有效，只能用一次。",
        "讓瀏覽器登入的連結，15 分鐘內有效，只能用一次。",
    ),
    "Make a login link": ("创建登录链接", "建立登入連結"),
    "Open this link on the other device.": ("请在其他设备上打开此链接。", "請在其他裝置上開啟此連結。"),
    "Give the token a name.": ("请给令牌命名。", "請為權杖命名。"),
}
