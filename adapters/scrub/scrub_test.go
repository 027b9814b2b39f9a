package scrub

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
		s := New([]string{secret})
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
				string(s.Bytes([]byte("before " + form + " after"))),
				string(s.JSON([]byte(`{"a":[` + strconv.Quote("Basic "+form) + `]}`))),
			} {
				if !strings.Contains(got, "(secret)") {
					t.Errorf("%q as %q is shown: %s", secret, form, got)
				}
			}
		}
	}
}

func TestOtherTextIsNoSecret(t *testing.T) {
	s := New([]string{"token-123456"})
	text := `{"a":"dG9rZW4","b":"token-12345 token","n":123456}`
	if got := string(s.JSON([]byte(text))); got != text {
		t.Errorf("%s became %s", text, got)
	}
}

// Sentences cut what they quote, and a secret that was cut there is not found as a whole.
func TestTheBeginningOfASecretThatASentenceHasCutIsHidden(t *testing.T) {
	secret := strings.Repeat("tok\"en", 50) + "!"
	s := New([]string{secret, "shorter-123"})
	for _, head := range []int{4, 9, 60, 200, len(secret) - 1} {
		cut := secret[:head]
		for _, text := range []string{`tonumber: "` + cut + `…" is not a number`, "got the string " + strconv.Quote("Bearer "+cut) + "… (301 characters)", cut + " …", "… and " + cut + "…"} {
			for what, got := range map[string]string{"text": s.Text(text), "json": string(s.JSON([]byte(strconv.Quote(text))))} {
				if strings.Contains(got, "tok") || !strings.Contains(got, "(secret)") {
					t.Errorf("%s of %d bytes: %s became %s", what, head, text, got)
				}
			}
		}
	}
	for _, text := range []string{"a short tok… of what is long", "… shorter-12", "nothing…"} {
		if got := s.Text(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// What a caller writes is not looked at for long, however often it looks like the beginning of a secret that was cut.
func BenchmarkTextsFullOfCuts(b *testing.B) {
	s := New([]string{"ghp_" + strings.Repeat("0123456789", 20)})
	for what, text := range map[string]string{"cuts": strings.Repeat("…", 100_000), "beginnings": strings.Repeat("ghp_…", 50_000)} {
		b.Run(what, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Bytes([]byte(text))
			}
		})
	}
}

func TestScrubberLeavesJSONValid(t *testing.T) {
	s := New([]string{"12345", "pass/word", "no"})
	for in, want := range map[string]string{
		`{"a":"12345"}`:                     `{"a":"(secret)"}`,
		`{"a":12345,"b":123456}`:            `{"a":"(secret)","b":123456}`,
		`["pass\/word","p\u0061ss/word",1]`: `["(secret)","(secret)",1]`,
		`"no"`:                              `"no"`,
		`["say \"12345\""]`:                 `["say \"(secret)\""]`,
	} {
		if got := string(s.JSON([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := s.Text("key=pass%2Fword and pass/word"); got != "key=(secret) and (secret)" {
		t.Errorf("got %s", got)
	}
	var none *Scrubber
	if none.Text("x") != "x" || string(none.JSON([]byte("1"))) != "1" {
		t.Error("a scrubber without secrets changed something")
	}
}
