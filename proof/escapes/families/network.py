"""Places in the network that no rule names, and other ways to the ones that a rule names."""

from __future__ import annotations

from proof.escapes.case import Escape, Network

FAMILY = "network"

_FORBIDDEN = "FORBIDDEN"
_CONNECT = (
    'for host in {hosts!r}:\n    text = ask_proxy(f"CONNECT {{host}}:{{'
    + _FORBIDDEN
    + '}} HTTP/1.1\\r\\n\\r\\n", b"GET / HTTP/1.0\\r\\n\\r\\n")'
)
_LOOPBACK = (
    "127.0.0.1",
    "localhost",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "127.0.0.1.",
)

ESCAPES = (
    Escape("port of the machine", f'knock(socket.AF_INET, ("127.0.0.1", {_FORBIDDEN}))'),
    Escape(
        "port of the machine, without a network",
        f'knock(socket.AF_INET, ("127.0.0.1", {_FORBIDDEN}))',
        network=Network.NONE,
    ),
    Escape(
        "port of the machine by other addresses",
        f'for host in ("127.0.0.2", "0.0.0.0", "10.0.2.2", "172.17.0.1"):\n    knock(socket.AF_INET, (host, {_FORBIDDEN}))',
    ),
    Escape(
        "port of the machine by IPv6",
        'knock(socket.AF_INET6, ("::1", W["ports"].get("loopback6", 9)))\nknock(socket.AF_INET6, ("::ffff:127.0.0.1", FORBIDDEN))',
    ),
    Escape(
        "addresses of the machine",
        """
for line in open("/proc/net/fib_trie"):
    address = line.split()[-1]
    if address.count(".") == 3 and not address.startswith(("127.", "0.")) and "/" not in address:
        got(f"an interface with {address}")
""",
    ),
    Escape("the proxy leads to this machine", _CONNECT.format(hosts=_LOOPBACK)),
    Escape(
        "the proxy leads to this machine without a tunnel",
        f'for host in {_LOOPBACK!r}:\n    ask_proxy(f"GET http://{{host}}:{{{_FORBIDDEN}}}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")',
    ),
    Escape(
        "the proxy follows another host header",
        f'ask_proxy(f"GET http://127.0.0.1:{{ALLOWED}}/allowed HTTP/1.1\\r\\nHost: 127.0.0.1:{{{_FORBIDDEN}}}\\r\\n\\r\\n")',
    ),
    Escape(
        "the proxy follows a user in the address",
        f'ask_proxy(f"GET http://127.0.0.1:{{ALLOWED}}@127.0.0.1:{{{_FORBIDDEN}}}/ HTTP/1.1\\r\\n\\r\\n")',
    ),
    Escape(
        "a second request in one connection",
        f'allowed = f"GET http://127.0.0.1:{{ALLOWED}}/allowed HTTP/1.1\\r\\n\\r\\n"\n'
        f'ask_proxy(allowed + f"GET http://127.0.0.1:{{{_FORBIDDEN}}}/ HTTP/1.1\\r\\n\\r\\n")',
    ),
    Escape(
        "a redirect of an allowed host",
        "import urllib.request\nwith contextlib.suppress(OSError):\n"
        '    say(urllib.request.urlopen(f"http://127.0.0.1:{ALLOWED}/allowed", timeout=5).read())',
    ),
    Escape(
        "the service for the metadata of clouds",
        'if "200" in ask_proxy("GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\\r\\n\\r\\n")[:20]:\n    got("metadata")',
    ),
    Escape(
        "names",
        'with contextlib.suppress(OSError):\n    got(str(socket.getaddrinfo("example.com", 443)))\n'
        'text = ask_proxy("CONNECT secret.example.com:443 HTTP/1.1\\r\\n\\r\\n")\nif " 200 " in text:\n    got("a tunnel")',
    ),
    Escape(
        "name servers by UDP",
        'for server in ("127.0.0.53", "127.0.0.1", "8.8.8.8"):\n    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:\n'
        "        line.settimeout(1)\n        line.sendto(bytes(12), (server, 53))\n        say(line.recv(100))\n        got(server)",
    ),
    Escape(
        "raw sockets and interfaces",
        """
for family, kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW)):
    with contextlib.suppress(OSError):
        socket.socket(family, kind, 1).close()
        got("a raw socket")
if "yes" in run("ip link add dummy0 type dummy 2>&1 && echo yes"):
    got("a new interface")
""",
    ),
    Escape(
        "the network of the machine by a namespace",
        'run(f"nsenter --net=/proc/1/ns/net curl -m 3 -s http://127.0.0.1:{FORBIDDEN}/")\nrun("unshare -Urn true")',
    ),
    Escape(
        "sockets of virtual machines",
        'with contextlib.suppress(OSError), socket.socket(40, socket.SOCK_STREAM) as line:\n    line.settimeout(2)\n    line.connect((2, 22))\n    got("a socket to the host")',
    ),
    Escape(
        "takes the port of the proxy",
        """
port = int(os.environ["HTTP_PROXY"].rpartition(":")[2])
with contextlib.suppress(OSError):
    line = socket.create_server(("127.0.0.1", port))
    got("the port of the proxy")
""",
    ),
    Escape(
        "very many connections do not end the proxy",
        """
port = int(os.environ["HTTP_PROXY"].rpartition(":")[2])
lines = []
for _ in range(600):
    with contextlib.suppress(OSError):
        lines.append(socket.create_connection(("127.0.0.1", port), 1))
for line in lines:
    line.close()
time.sleep(1)
if not ask_proxy("CONNECT example.com:443 HTTP/1.1\\r\\n\\r\\n"):
    got("the proxy does not answer any more")
""",
    ),
)
