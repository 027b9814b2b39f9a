package webhook

import (
	"strings"
	"testing"
)

func TestAProxyThatCannotBeUsedIsNamed(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy"} {
		t.Setenv(name, "")
		t.Setenv(strings.ToLower(name), "")
	}
	t.Setenv("ALL_PROXY", "socks4://10.0.0.1")
	const want = "ALL_PROXY in the environment names a proxy"
	h := Endpoint{URL: "https://hooks.invalid/x"}
	if got := CheckConnection(t.Context(), h); !strings.Contains(got, want) {
		t.Errorf("checked: %q", got)
	}
	_, err := newClient(newTransport()).R().Get(h.URL)
	if f := connectionFailure(err, false); !strings.Contains(f.message, want) {
		t.Errorf("sent: %q", f.message)
	}
}
