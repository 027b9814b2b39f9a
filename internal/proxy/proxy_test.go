package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestTheEnvironmentNamesProxies(t *testing.T) {
	for _, c := range []struct{ env, target, want string }{
		{"", "https://api.test/", ""},
		{"HTTPS_PROXY=http://p:1", "https://api.test/", "http://p:1"},
		{"HTTPS_PROXY=http://p:1", "http://api.test/", ""},
		{"http_proxy=p:1", "http://api.test/", "http://p:1"},
		{"ALL_PROXY=socks5://p", "https://api.test/", "socks5://p"},
		{"all_proxy=socks5h://u:x@p:9", "http://api.test/", "socks5h://u:x@p:9"},
		{"ALL_PROXY=p:3128", "https://api.test/", "http://p:3128"},
		{"ALL_PROXY=http://all:1 HTTPS_PROXY=http://p:1", "https://api.test/", "http://p:1"},
		{"ALL_PROXY=http://all:1 HTTPS_PROXY=http://p:1", "http://api.test/", "http://all:1"},
		{"ALL_PROXY=http://all:1 HTTPS_PROXY=", "https://api.test/", "http://all:1"},
		{"ALL_PROXY=http://p:1 NO_PROXY=.test", "https://api.test/", ""},
		{"ALL_PROXY=http://p:1 no_proxy=*", "https://api.test/", ""},
		{"ALL_PROXY=http://p:1 NO_PROXY=10.0.0.0/8", "https://10.1.2.3/", ""},
		{"ALL_PROXY=http://p:1", "http://localhost:8080/", ""},
		{"ALL_PROXY=http://p:1", "http://127.0.0.1:8080/", ""},
		{"ALL_PROXY=http://p:1", "http://[::1]:8080/", ""},
		{"ALL_PROXY=socks4://p:1", "http://api.test/", `ALL_PROXY in the environment names a proxy of the scheme "socks4", which is not supported`},
		{"all_proxy=socks://p:1", "http://api.test/", "all_proxy in the environment names a proxy of the scheme"},
		{"HTTPS_PROXY=ftp://p", "https://api.test/", "HTTPS_PROXY in the environment names a proxy of the scheme"},
		{"HTTPS_PROXY=http://u:s3cret@[::1", "https://api.test/", "HTTPS_PROXY in the environment is not the address of a proxy"},
		{"HTTPS_PROXY=http://u:s3cret@[::1", "http://api.test/", ""},
		{"HTTPS_PROXY=http://[::1 NO_PROXY=api.test", "https://api.test/", ""},
		{"REQUEST_METHOD=GET HTTP_PROXY=http://p:1", "http://api.test/", "HTTP_PROXY in the environment is not used where REQUEST_METHOD is set"},
		{"REQUEST_METHOD=GET HTTP_PROXY=http://p:1 NO_PROXY=.test", "http://api.test/", ""},
		{"REQUEST_METHOD=GET HTTP_PROXY=http://p:1", "https://api.test/", ""},
		{"REQUEST_METHOD=GET HTTP_PROXY=http://p:1 http_proxy=http://q:2", "http://api.test/", "http://q:2"},
		{"REQUEST_METHOD=GET http_proxy=http://q:2", "http://api.test/", "http://q:2"},
		{"REQUEST_METHOD=GET ALL_PROXY=http://q:2", "http://api.test/", "http://q:2"},
		{"HTTPS_PROXY=http://:3128", "https://api.test/", "names no host"},
	} {
		t.Run(c.env+" "+c.target, func(t *testing.T) {
			for _, name := range []string{"REQUEST_METHOD", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
				t.Setenv(name, "")
				t.Setenv(strings.ToLower(name), "")
			}
			for _, set := range strings.Fields(c.env) {
				name, value, _ := strings.Cut(set, "=")
				t.Setenv(name, value)
			}
			target, _ := url.Parse(c.target)
			u, err := FromEnvironment()(&http.Request{URL: target})
			got := ""
			if u != nil {
				got = u.String()
			}
			if err != nil {
				var of *Error
				if !errors.As(err, &of) || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), c.want) || c.want == "" {
					t.Fatal(err)
				}
				return
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestAProxyHasAPort(t *testing.T) {
	for text, want := range map[string]string{
		"http://p": "p:80", "https://p": "p:443", "socks5://p": "p:1080", "socks5h://[::1]": "[::1]:1080", "http://p:3128": "p:3128",
	} {
		u, _ := url.Parse(text)
		if got := Address(u); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
