package http_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

// TestALoneSurrogateDoesNotLoseAnAnswer has a service that cuts texts in the middle of a character.
func TestALoneSurrogateDoesNotLoseAnAnswer(t *testing.T) {
	for _, x := range []struct {
		name, body string
		want       any
		replaced   int
	}{
		{"a high one at the end", `{"a": "cut \ud83d"}`, map[string]any{"a": "cut \uFFFD"}, 1},
		{"a low one at the begin", `{"a": "\uDE00 cut"}`, map[string]any{"a": "\uFFFD cut"}, 1},
		{"two high ones", `["\ud83d\ud83d\ude00"]`, []any{"\uFFFD😀"}, 1},
		{"the wrong order", `["\ude00\ud83d"]`, []any{"\uFFFD\uFFFD"}, 2},
		{"before another escape", `["\ud83d\u0041\n"]`, []any{"\uFFFDA\n"}, 1},
		{"in a key", `{"k\ud83d": 1}`, map[string]any{"k\uFFFD": 1}, 1},
		{"a pair", `["\ud83d\ude00"]`, []any{"😀"}, 0},
		{"an escaped backslash", `["\\ud83d"]`, []any{`\ud83d`}, 0},
	} {
		for _, typed := range []string{"", "    response = any"} {
			t.Run(x.name+typed, func(t *testing.T) {
				s := serve(t, respondWith(200, "application/json", x.body))
				b := adaptertest.Bind(t, source(s.URL, "", "", "    get = \"/\"\n"+typed))
				call, err := b.Call(t.Context(), `{}`)
				if err != nil {
					t.Fatal(err)
				}
				var traced strings.Builder
				call.Trace = func(event, text string) { fmt.Fprintf(&traced, "%s: %s\n", event, text) }
				out, err := b.Action.Do(t.Context(), call)
				if err != nil {
					t.Fatal(err)
				}
				if got := resolved(t, out.(map[string]any)["body"]); !reflect.DeepEqual(got, x.want) {
					t.Errorf("%#v", got)
				}
				if note := fmt.Sprintf("replaced: %d times U+FFFD", x.replaced); call.Replaced != x.replaced || strings.Contains(traced.String(), note) != (x.replaced > 0) {
					t.Errorf("%d are counted: %s", call.Replaced, traced.String())
				}
			})
		}
	}
	t.Run("keys that become equal are refused", func(t *testing.T) {
		s := serve(t, respondWith(200, "application/json", `{"\ud83d": 1, "\ud83e": 2}`))
		_, err := adaptertest.Bind(t, source(s.URL, "", "", `    get = "/"`)).Do(t.Context(), `{}`)
		wantPart(t, wantFault(t, err).Message, "appears twice")
	})
}
