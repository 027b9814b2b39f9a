package runtime

import (
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A backend may answer with the value that a secret had before a reload, also in bytes.
func TestTheEarlierValueOfASecretIsHiddenForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const src = `secret "token" { env = "ROTATED" }
tool "t" {
  description = "Echoes."
  read_only   = true
  input "text" { type = string }
  input "data" { type = string }
  content "text" { text = "${input.text}" }
  content "image" {
    mime_type = "image/png"
    data      = input.data
  }
}`
		var value atomic.Value
		value.Store("first-value-of-it")
		h := newHost(t, "", func(o *HostOptions) {
			o.Load.Getenv = func(name string) (string, bool) { return value.Load().(string), name == "ROTATED" }
		})
		load(t, h, src)
		call := func(echoed string) (text, data string) {
			raw := base64.StdEncoding.EncodeToString([]byte("\x89PNG " + echoed + "\x00"))
			arguments, _ := json.Marshal(map[string]string{"text": "it is " + echoed, "data": raw})
			var result struct {
				Content []struct {
					Text string
					Data []byte
				}
			}
			answer := callTool(t, h, "t", string(arguments))
			if err := json.Unmarshal([]byte(answer), &result); err != nil || len(result.Content) != 2 {
				t.Fatalf("%v: %s", err, answer)
			}
			return result.Content[0].Text, string(result.Content[1].Data)
		}
		check := func(echoed, want string) {
			t.Helper()
			if text, data := call(echoed); text != "it is "+want || data != "\x89PNG "+want+"\x00" {
				t.Errorf("%s: %q, %q", echoed, text, data)
			}
		}
		check("first-value-of-it", "(secret)")
		time.Sleep(100 * time.Hour)
		value.Store("second-value-of-it")
		load(t, h, src)
		check("first-value-of-it", "(secret)")
		check("second-value-of-it", "(secret)")
		time.Sleep(25 * time.Hour)
		load(t, h, strings.Replace(src, "Echoes", "Returns", 1))
		check("first-value-of-it", "first-value-of-it")
		check("second-value-of-it", "(secret)")
	})
}

// Data is searched before it is encoded and not again, since a short secret may occur in base64 by chance; every text
// of a block is searched.
func TestBlocksAreSearchedForSecretsTextByText(t *testing.T) {
	h := newHost(t, "", func(o *HostOptions) {
		o.Load.Getenv = func(name string) (string, bool) { return "AAAA", true }
	})
	load(t, h, `secret "token" { env = "TOKEN" }
tool "t" {
  description = "Echoes."
  read_only   = true
  input "text" { type = string }
  content "image" {
    mime_type = "image/png"
    data      = "AAAAAAAA"
  }
  content "resource" {
    uri  = "x://${input.text}"
    data = "AAAAAAAA"
  }
  content "link" {
    uri         = "x://${input.text}"
    name        = input.text
    title       = "of ${input.text}"
    description = "is ${input.text}"
  }
}`)
	answer := callTool(t, h, "t", `{"text": "AAAA"}`)
	want := `[{"type":"image","data":"AAAAAAAA","mimeType":"image/png"},` +
		`{"type":"resource","resource":{"uri":"x://(secret)","blob":"AAAAAAAA"}},` +
		`{"type":"resource_link","uri":"x://(secret)","name":"(secret)","title":"of (secret)","description":"is (secret)"}]`
	if !strings.Contains(answer, want) {
		t.Errorf("%s\nwithout %s", answer, want)
	}
}

// What a backend writes to the log has no secrets in any spelling.
func TestLinesOfBackendsHaveNoSecrets(t *testing.T) {
	var log strings.Builder
	h := newHost(t, "", logTo(&log, slog.LevelDebug), func(o *HostOptions) {
		o.Load.Getenv = func(string) (string, bool) { return "first-value-of-it", true }
	})
	load(t, h, `secret "token" { env = "TOKEN" }
tool "t" {
  description = "Echoes."
  input "text" { type = string }
  fake { value = input.text }
}`)
	callTool(t, h, "t", `{"text": "u:Zmlyc3QtdmFsdWUtb2YtaXQ= %66irst-value-of-it"}`)
	for _, want := range []string{`value="u:(secret)Q= (secret)"`, `cause="of u:(secret)Q= (secret)"`, "tool=t backend=fake"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s\nwithout %s", log.String(), want)
		}
	}
}
