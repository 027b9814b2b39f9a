package scrub

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// everydayTexts are answers of 1 MiB as backends give them, without a secret.
func everydayTexts() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the order of customer is paid and shipped to the address in Berlin on Monday with invoice Quantity XL 7 Zürich")
	word := func() string { return words[r.IntN(len(words))] }
	token := func() string {
		return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, r.Uint64()))
	}
	var prose, logs, csv, links bytes.Buffer
	var rows, notes []map[string]any
	for i := range 8_000 {
		prose.WriteString(word())
		prose.WriteByte(" \n"[r.IntN(12)/11])
		fmt.Fprintf(&logs, "2026-01-%02dT10:%02d:%02d.123Z INFO  request=%s path=/v1/%s/%d status=200\n", i%28+1, i%60, r.IntN(60), token(), word(), i)
		fmt.Fprintf(&csv, "%d,%s,%q,%d.%02d,2026-02-%02d\r\n", i, token(), word()+" "+word(), r.IntN(1000), r.IntN(100), i%28+1)
		fmt.Fprintf(&links, "https://example.com/%s?q=%s&page=%d\n", word(), url.QueryEscape(word()+" & "+word()+"/"+token()), i)
		rows = append(rows, map[string]any{"id": i, "name": word(), "key": token(), "total": r.Float64(), "paid": i%2 == 0,
			"created_at": fmt.Sprintf("2026-01-%02dT10:00:00Z", i%28+1), "city": word() + " " + word()})
		notes = append(notes, map[string]any{"id": i, "name": word(), "note": "He said \"no\".\nThen & there: 50%."})
	}
	list, _ := json.Marshal(rows)
	quoted, _ := json.Marshal(string(list))
	dense, _ := json.Marshal(notes)
	raw := make([]byte, 1<<20)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	return ofOneMiB(map[string][]byte{
		"prose": prose.Bytes(), "logs": logs.Bytes(), "CSV": csv.Bytes(), "links": links.Bytes(), "JSON": list, "JSON in JSON": quoted,
		"JSON of notes": dense, "hexadecimal": []byte(hex.EncodeToString(raw)), "base64": []byte(base64.StdEncoding.EncodeToString(raw)),
	})
}

// costlyTexts are those that cost a Scrubber most.
func costlyTexts() map[string][]byte {
	texts := map[string][]byte{}
	for _, unit := range []string{"%", "%41", "%25", `\u0073`, `\\`, `\/`, "&amp;", "&#115;", "&nothing;", "sk_live_", "sk_l", "736b5f", "c2tfbGl2", "\n", "a\n", "…"} {
		texts["full of "+strconv.Quote(unit)] = []byte(unit)
	}
	return ofOneMiB(texts)
}

func ofOneMiB(texts map[string][]byte) map[string][]byte {
	for name, text := range texts {
		texts[name] = bytes.Repeat(text, 1<<20/len(text)+1)[:1<<20]
	}
	return texts
}

func scrubbedSecrets(n int) (secrets []string) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		raw := make([]byte, 60)
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		prefix := []string{"", "sk_live_", "ghp_", "eyJhbGciOi"}[i%4]
		secrets = append(secrets, (prefix + base64.RawURLEncoding.EncodeToString(raw))[:20+r.IntN(41)])
	}
	return secrets
}

// cost returns the shortest of some durations of a function, in which nothing else has run on its processor.
func cost(runs int, f func()) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	for range runs {
		start := time.Now()
		f()
		shortest = min(shortest, time.Since(start))
	}
	return shortest
}

// costOfOne is what it costs to look for one secret in a text, on average.
func costOfOne(secrets []string, text []byte) time.Duration {
	var sum time.Duration
	for _, secret := range secrets {
		sum += cost(3, func() { bytes.Contains(text, []byte(secret)) })
	}
	return sum / time.Duration(len(secrets))
}

// An answer costs little in proportion to looking for one text.
func BenchmarkScrubber(b *testing.B) {
	secrets := scrubbedSecrets(100)
	s := New(secrets)
	for _, texts := range []map[string][]byte{everydayTexts(), costlyTexts()} {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			text := texts[name]
			b.Run(name, func(b *testing.B) {
				all, one := cost(50, func() { s.Bytes(text) }), costOfOne(secrets, text)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(all.Microseconds()), "µs/MiB")
				b.ReportMetric(float64(one.Microseconds()), "µs/one")
				b.ReportMetric(float64(all)/float64(one), "x")
			})
		}
	}
	for name, secrets := range map[string][]string{"new": secrets, "newOfOne": secrets[:1], "newOfShort": {"1234", "user@example.com"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				New(secrets)
			}
		})
	}
}
