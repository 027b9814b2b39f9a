package result

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// scrubbedTexts are answers of 1 MiB without a secret: of everyday kinds, and those that cost a Scrubber most.
func scrubbedTexts() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the order of customer is paid and shipped to the address in Berlin on Monday with invoice")
	var prose bytes.Buffer
	var rows []map[string]any
	for i := 0; prose.Len() < 1<<20; i++ {
		prose.WriteString(words[r.IntN(len(words))])
		prose.WriteByte(" \n"[r.IntN(12)/11])
		rows = append(rows, map[string]any{"id": i, "name": words[i%len(words)], "note": "He said \"no\".\nThen & there: 50%."})
	}
	list, _ := json.Marshal(rows)
	raw := make([]byte, 1<<20)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	texts := map[string][]byte{
		"prose": prose.Bytes(), "json": list, "hex": []byte(hex.EncodeToString(raw)),
		"base64": []byte(base64.StdEncoding.EncodeToString(raw)),
	}
	for _, unit := range []string{"%", "%41", "%25", `\u0073`, `\\`, "&amp;", "&#115;", "sk_live_", "sk_l", "736b5f", "c2tfbGl2", "\n", "…"} {
		texts["full of "+unit] = []byte(unit)
	}
	for name, text := range texts {
		texts[name] = bytes.Repeat(text, 1<<20/len(text)+1)[:1<<20]
	}
	return texts
}

func scrubbedSecrets(n int) (secrets []string) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		raw := make([]byte, 12+r.IntN(24))
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		prefix := []string{"", "sk_live_", "ghp_", "eyJhbGciOi"}[i%4]
		secrets = append(secrets, prefix+base64.RawURLEncoding.EncodeToString(raw))
	}
	return secrets
}

// An answer costs little in proportion to looking for one text.
func BenchmarkScrubber(b *testing.B) {
	secrets := scrubbedSecrets(100)
	s := NewScrubber(secrets)
	for name, text := range scrubbedTexts() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Bytes(text)
			}
		})
		b.Run(name+"/one", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				bytes.Contains(text, []byte(secrets[1]))
			}
		})
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			NewScrubber(secrets)
		}
	})
	b.Run("newOfOne", func(b *testing.B) {
		for b.Loop() {
			NewScrubber(secrets[:1])
		}
	})
}
