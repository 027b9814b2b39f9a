package hostname

import "testing"

func TestAnAddressHasOnlyThePartsItMay(t *testing.T) {
	for text, want := range map[string]string{
		"https://a.example": "", "http://127.0.0.1:80/x": "", "HTTPS://a.example/": "", "http://[::1]:1/%20": "",
		"": "it does not begin with https:// or http://", "a.example": "it does not begin with https:// or http://",
		"ftp://a.example": "it does not begin with https:// or http://", "http://a b": "it is not a valid URL",
		"https://": "it has no host", "http://:80/": "it has no host", "https:a.example": "it has no host",
		"https://u@a.example": "it has a user name or password", "https://:p@a.example": "it has a user name or password",
		"https://a.example?": "it has a query", "https://a.example/?b": "it has a query",
		"https://a.example#b": "it has a fragment", "https://a.example?b#c": "it has a query",
	} {
		if u, problem := ParseURL(text, 0); problem != want || (u == nil) != (want != "") {
			t.Errorf("%q: %v, %q", text, u, problem)
		}
	}
	if _, problem := ParseURL("https://u:p@a.example/?b#c", User|Query|Fragment); problem != "" {
		t.Error(problem)
	}
}

func TestWhatIsSentWithHTTPCanBeReadButOnThisMachine(t *testing.T) {
	for text, want := range map[string]bool{
		"http://a.example": true, "https://a.example": false, "http://localhost:1": false, "http://127.9.9.9": false,
		"http://[::1]:1": false, "http://10.0.0.1": true, "http://localhost.example": true,
	} {
		if u, problem := ParseURL(text, 0); problem != "" || IsReadable(u) != want {
			t.Errorf("%s: %q", text, problem)
		}
	}
}

func TestTheOriginOfAURLHasThePortOfItsScheme(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"https://a.example", "https://A.example:443/x?y"}: true, {"http://a.example:80", "http://a.example"}: true,
		{"http://[::1]", "http://[::1]:80"}: true, {"https://a.example", "https://a.example:80"}: false,
		{"https://a.example", "http://a.example:443"}: false, {"https://a.example", "https://b.a.example"}: false,
	} {
		a, _ := ParseURL(pair[0], Query)
		b, _ := ParseURL(pair[1], Query)
		if HaveSameOrigin(a, b) != want || HaveSameOrigin(b, a) != want {
			t.Errorf("%s and %s have the same origin: %v", pair[0], pair[1], !want)
		}
	}
}
