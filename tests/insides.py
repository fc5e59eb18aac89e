"""Spellings of hosts that must never be reached: by `{port}` they lead to a canary, if anybody follows them."""

from __future__ import annotations


def _each(words: str) -> list[str]:
    return words.split()


# IPv4, plainly written.
PLAIN_4 = _each("""
0.0.0.0 0.0.0.1 0.1.2.3 0.255.255.255 10.0.0.0 10.0.0.1 10.255.255.255 10.96.0.1 100.64.0.0 100.64.0.1 100.100.100.200
100.127.255.255 127.0.0.0 127.0.0.1 127.0.0.2 127.0.1.1 127.1.2.3 127.127.127.127 127.255.255.254 127.255.255.255
169.254.0.0 169.254.0.1 169.254.169.253 169.254.169.254 169.254.170.2 169.254.255.255 172.16.0.0 172.16.0.1 172.17.0.1
172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.170 192.0.0.192 192.0.0.255 192.0.2.0 192.0.2.1 192.31.196.1 192.52.193.1
192.88.99.1 192.168.0.0 192.168.0.1 192.168.1.1 192.168.255.255 192.175.48.1 198.18.0.0 198.18.0.1 198.19.255.255
198.51.100.1 203.0.113.1 224.0.0.1 224.0.0.251 232.1.1.1 239.255.255.250 239.255.255.255 240.0.0.1 250.1.1.1
255.0.0.0 255.255.255.254 255.255.255.255
""")

# IPv6, plainly written and with IPv4 inside.
PLAIN_6 = _each("""
:: ::0 ::1 0:0:0:0:0:0:0:0 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::0001 0::1 ::2 ::ffff
::127.0.0.1 ::7f00:1 ::10.0.0.1 ::169.254.169.254 ::a9fe:a9fe ::8.8.8.8
::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:127.0.0.1 0:0:0:0:0:ffff:127.0.0.1 0:0:0:0:0:ffff:7f00:1 ::ffff:0.0.0.0
::ffff:10.0.0.1 ::ffff:a00:1 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::ffff:192.168.0.1 ::ffff:172.16.0.1
::ffff:100.64.0.1 ::ffff:224.0.0.1 ::ffff:255.255.255.255 ::ffff:192.0.0.192 ::ffff:0:127.0.0.1 ::ffff:0:7f00:1
64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::169.254.169.254 64:ff9b::192.168.1.1
64:ff9b::c0a8:101 64:ff9b::0.0.0.0 64:ff9b:1::7f00:1 64:ff9b:1::a9fe:a9fe 64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1::8.8.8.8
64:ff9b:2::1 2002:7f00:1:: 2002:7f00:0001::1 2002:a9fe:a9fe:: 2002:a00:1:: 2002:c0a8:101:: 2002:808:808::
2001:0:7f00:1:0:0:0:0 2001::1 2001:0:4136:e378:8000:63bf:80ff:fffe 2001:0:4136:e378:8000:63bf:5601:5601 2001:2::1
2001:10::1 2001:20::1 2001:1ff::1 2001:db8::1 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 3fff::1 3fff:fff::1
2a00::5efe:127.0.0.1 2a00::5efe:7f00:1 2a00::200:5efe:10.0.0.1 2a00::5efe:a9fe:a9fe fe80::5efe:127.0.0.1
100::1 100:0:0:1::1 200::1 400::1 1000::1 4000::1 5f00::1 6000::1 8000::1 a000::1 c000::1 e000::1 f000::1
fc00:: fc00::1 fd00::1 fd00:ec2::254 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fe00::1 fe80:: fe80::1 fe80::a9fe:a9fe
febf::1 fec0::1 feff::1 ff00::1 ff01::1 ff02::1 ff02::fb ff05::2 ff0e::1
ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2620:4f:8000::1
""")

# IPv4 as only some readers understand it.
ODD = _each("""
2130706433 2130706434 017700000001 0x7f000001 0X7F000001 0x7F.0x0.0x0.0x1 0x7f.1 0x7f.0.1 127.1 127.0.1 127.0x1
0177.0.0.1 0177.0.0.01 00000177.0.0.1 0177.1 127.0.0.01 127.00.0.1 127.000.000.001 127.0.0.1. 127.0.0.1.. 127.0.0.0x1
127.0.0.0x 0 0.0 0x0 00 0.0.0 1 4294967295 4294967296 6425673729 18446744071562067969 256.0.0.1 383.0.0.1 127.0.0.257
0xa9fea9fe 2852039166 0251.0376.0251.0376 0xa9.0xfe.0xa9.0xfe 169.16689662 169.254.43518 10.1 0xa.1 0xa000001 012.0.0.1
3232235777 0xc0a80101 192.168.257 0300.0250.1.1 -1 -127.0.0.1 +127.0.0.1 127.-0.0.1 1e9 127.0.0.1e0 0b1111111.0.0.1
127.0.0.1.1 127..1 .127.0.0.1 127.0.0. 127_0_0_1 127.0.0.1_ 0x 0x. 0xg.1
""")

# Names that lead inside without any resolver of ours.
NAMES = _each("""
localhost LOCALHOST LocalHost localhost. localhost.. .localhost a.localhost foo.bar.localhost localhost.localdomain
localdomain printer.local metadata.google.internal instance-data.ec2.internal kubernetes.default.svc.cluster.local
router.home.arpa hidden.onion -localhost
""")

# Whole authorities that two readers could understand differently. `{port}` is the canary's.
AUTHORITIES = [
    "user@127.0.0.1:{port}",
    "user:password@127.0.0.1:{port}",
    "example.com@127.0.0.1:{port}",
    "example.com:80@127.0.0.1:{port}",
    "127.0.0.1:{port}@example.com",
    "@127.0.0.1:{port}",
    ":@127.0.0.1:{port}",
    "example.com:{port}@127.0.0.1:{port}",
    "example.com%40127.0.0.1:{port}",
    "example.com\\@127.0.0.1:{port}",
    "127.0.0.1:{port}\\@example.com",
    "127.0.0.1:{port}\\example.com",
    "\\127.0.0.1:{port}",
    "example.com\\.127.0.0.1:{port}",
    "127.0.0.1:{port}:80",
    "127.0.0.1:",
    "127.0.0.1:0{port}0",
    "127.0.0.1:-1",
    "127.0.0.1:+{port}",
    "127.0.0.1: {port}",
    "127.0.0.1:{port}x",
    "127.0.0.1:0",
    "127.0.0.1:65536",
    "127.0.0.1:٨٠",
    " 127.0.0.1:{port}",
    "127.0.0.1 :{port}",
    "127.0.0.1\t:{port}",
    "127.0.0.1\n:{port}",
    "127.0.0.1\r\n:{port}",
    "127.0.0.1\x00:{port}",
    "127.0.0.1\x00.example.com:{port}",
    "127.0.0.1%00.example.com:{port}",
    "127.0.0.1%20:{port}",
    "127.0.0.1%2f:{port}",
    "127.0.0.1%23:{port}",
    "%31%32%37.0.0.1:{port}",
    "%6c%6f%63%61%6c%68%6f%73%74:{port}",
    "127%2e0%2e0%2e1:{port}",
    "[127.0.0.1]:{port}",
    "[localhost]:{port}",
    "[::1%25lo]:{port}",
    "[::1%lo]:{port}",
    "[fe80::1%25eth0]:{port}",
    "[fe80::1%eth0]:{port}",
    "[::1]]:{port}",
    "[[::1]]:{port}",
    "[::1:{port}",
    "::1:{port}",
    "[::1].example.com:{port}",
    "[v1.127]:{port}",
    "[]:{port}",
    "[:]:{port}",
    "[0:0:0:0:0:0:0:0:1]:{port}",
    "[::127.0.0.01]:{port}",
    "[::ffff:0x7f.0.0.1]:{port}",
    "①②⑦.⓪.⓪.①:{port}",
    "①②⑦.0.0.1:{port}",
    "１２７.0.0.1:{port}",
    "𝟏𝟐𝟕.𝟎.𝟎.𝟏:{port}",
    "١٢٧.0.0.1:{port}",
    "127。0。0。1:{port}",
    "127．0．0．1:{port}",
    "127｡0｡0｡1:{port}",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}",
    "ｌｏｃａｌｈｏｓｔ:{port}",
    "local\u00adhost:{port}",
    "local\u200bhost:{port}",
    "loc\u2060alhost:{port}",
    "localhoſt:{port}",
    "ℓocalhost:{port}",
    "127.0.0.1\u200b:{port}",
    "127.0.0.1\u2100example.com:{port}",
    "example.com\uff0f@127.0.0.1:{port}",
    "example.com\uff03@127.0.0.1:{port}",
    "127.0.0.1\u2024:{port}",
    "",
    ":{port}",
    ".",
    "..:{port}",
    "/127.0.0.1:{port}",
    "//127.0.0.1:{port}",
    "?@127.0.0.1:{port}",
    "#@127.0.0.1:{port}",
    "*:{port}",
    "a,127.0.0.1:{port}",
    "127.0.0.1,127.0.0.1:{port}",
    "127.0.0.1;127.0.0.1:{port}",
    "$(hostname):{port}",
    "{port}",
]

# Whole URLs.
URLS = [
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}/",
    "/fine",
    "",
    "http:127.0.0.1:{port}/",
    "http:/127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http:\\\\127.0.0.1:{port}/",
    "http:/\\127.0.0.1:{port}/",
    " http://127.0.0.1:{port}/",
    "\thttp://127.0.0.1:{port}/",
    "ht\ttp://127.0.0.1:{port}/",
    "\x00http://127.0.0.1:{port}/",
    "http\x00://127.0.0.1:{port}/",
    "ｈttp://127.0.0.1:{port}/",
    "HTTP://127.0.0.1:{port}/",
    "hTTps://127.0.0.1:{port}/",
    "https://127.0.0.1:{port}/",
    "ftp://127.0.0.1:{port}/",
    "file:///etc/passwd",
    "file://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/_x",
    "dict://127.0.0.1:{port}/x",
    "ldap://127.0.0.1:{port}/",
    "ws://127.0.0.1:{port}/",
    "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "url:http://127.0.0.1:{port}/",
    "jar:http://127.0.0.1:{port}/!/",
    "view-source:http://127.0.0.1:{port}/",
    "http://http://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}",
    "http://127.0.0.1:{port}?x",
    "http://127.0.0.1:{port}#x",
    "http://127.0.0.1:{port}/#@example.com/",
    "http://127.0.0.1:{port}/../",
    "http://127.0.0.1:{port}/ x",
    "http://127.0.0.1:{port}/\r\nX: y",
]


def urls(port: int) -> list[str]:
    """Every spelling as a whole URL, towards the canary's port where there is one to be named."""
    hosts = [*PLAIN_4, *ODD, *NAMES, *(f"[{address}]" for address in PLAIN_6)]
    return [
        *(f"http://{host}:{port}/fine" for host in hosts),
        *(f"http://{authority.replace('{port}', str(port))}/fine" for authority in AUTHORITIES),
        *(url.replace("{port}", str(port)) for url in URLS),
    ]
