package hostname_test

import (
	"strings"
	"testing"

	"hatchel/internal/hostname"
)

func TestHostHeadersAreReadStrictly(t *testing.T) {
	for header, want := range map[string]string{
		"localhost":               "localhost",
		"LocalHost:8080":          "localhost 8080",
		"tools.example":           "tools.example",
		"Tools.Example.:443":      "tools.example 443",
		"xn--bcher-kva.example":   "xn--bcher-kva.example",
		"my_service:80":           "my_service 80",
		"127.0.0.1":               "127.0.0.1",
		"127.0.0.1.":              "127.0.0.1",
		"127.0.0.1:65535":         "127.0.0.1 65535",
		"[::1]":                   "::1",
		"[::1]:8080":              "::1 8080",
		"[2001:DB8:0:0::1]":       "2001:db8::1",
		"[::ffff:127.0.0.1]:8080": "127.0.0.1 8080",

		"":                              "",
		".":                             "",
		":8080":                         "",
		"localhost:":                    "",
		"localhost:http":                "",
		"localhost:65536":               "",
		"localhost:-1":                  "",
		"localhost:+1":                  "",
		"localhost..":                   "",
		".localhost":                    "",
		"a..b":                          "",
		"127.0.0.1:8080.evil.example":   "",
		"127.0.0.1:8080:8080":           "",
		"localhost:8080:evil.example":   "",
		"localhost:8080 evil.example":   "",
		"user@localhost":                "",
		"user@localhost:8080":           "",
		"localhost/evil":                "",
		"localhost\\evil":               "",
		"localhost#evil":                "",
		"localhost?evil":                "",
		"localhost%00":                  "",
		"local host":                    "",
		"http://localhost":              "",
		"::1":                           "",
		"::1:8080":                      "",
		"[::1":                          "",
		"[::1]8080":                     "",
		"[::1]:":                        "",
		"[::1].evil.example":            "",
		"[::1]]":                        "",
		"[127.0.0.1]":                   "",
		"[localhost]":                   "",
		"[fe80::1%eth0]":                "",
		"[fe80::1%25eth0]":              "",
		"127.1":                         "",
		"2130706433":                    "",
		"0x7f.0.0.1":                    "",
		"127.0.0.0x1":                   "",
		"127.0.0.09":                    "",
		"127.0.0.1..":                   "",
		"bücher.example":                "",
		"g\u0130thub.example":           "", // in lower case it is github.example, and elsewhere not
		"to\u212As.example":             "",
		"*.tools.example":               "",
		"*":                             "",
		strings.Repeat("a", 64):         "",
		strings.Repeat("a.", 127) + "b": "",
	} {
		host, port, ok := hostname.Split(header)
		got := strings.TrimSpace(host + " " + port)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q is read as %q, not %q", header, got, want)
		}
	}
}

func TestOnlyThisMachineIsLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.0.0.2": true, "::1": true,
		"0.0.0.0": false, "::": false, "192.0.2.1": false, "localhost.example": false, "a.localhost": false, "": false,
	} {
		if got := hostname.IsLocal(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
