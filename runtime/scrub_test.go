package runtime

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// A service that echoes a request gives back what it was sent in the form in which it was sent.
func TestSecretsAreFoundInEveryFormInWhichTheyTravel(t *testing.T) {
	for _, secret := range []string{"token-123456", "s3/cr\"t+t&k=9911~?>Z", "zwölf Boxkämpfer", "12345678"} {
		s := newScrubber([]string{secret})
		forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret))}
		for _, user := range []string{"", "u", "us", "usr", "user:", "someone else:"} {
			for _, after := range []string{"", "\n", "!!"} {
				plain := []byte(user + secret + after)
				std := base64.StdEncoding.EncodeToString(plain)
				forms = append(forms, std, base64.RawURLEncoding.EncodeToString(plain), url.QueryEscape(std))
			}
		}
		for _, form := range forms {
			for _, got := range []string{
				string(s.text([]byte("before " + form + " after"))),
				string(s.json([]byte(`{"a":[` + strconv.Quote("Basic "+form) + `]}`))),
			} {
				if !strings.Contains(got, "(secret)") {
					t.Errorf("%q as %q is shown: %s", secret, form, got)
				}
			}
		}
	}
}

func TestOtherTextIsNoSecret(t *testing.T) {
	s := newScrubber([]string{"token-123456"})
	text := `{"a":"dG9rZW4","b":"token-12345 token","n":123456}`
	if got := string(s.json([]byte(text))); got != text {
		t.Errorf("%s became %s", text, got)
	}
}
