package limit

import "testing"

func TestANetworkIsWhatOneClientHas(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "192.0.2.1:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::/64", "2001:db8::2": "2001:db8::/64",
		"::ffff:192.0.2.1": "192.0.2.1", "": "", "@": "",
	} {
		if got := Network(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
