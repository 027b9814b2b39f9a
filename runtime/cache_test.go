package runtime

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/result"
)

const caching = "read_only = true\ncache { ttl = \"1m\" }\n"

func TestAnAnswerIsKeptForAsLongAsItSays(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	src := tool("t", caching+`
		input "a" { type = optional(integer) }
		fake { do = "count" }
		text = "answer ${output.value} to ${input.a == null ? 0 : input.a}"
	`)
	inBubble(t, src, w.use, func(t *testing.T, h *Host) {
		first := callAs(t, h, "ann", "t", `{"a":1}`)
		for range 3 {
			if again := callAs(t, h, "ann", "t", `{ "a": 1.0 }`); again != first || !strings.Contains(again, "answer 1 to 1") {
				t.Errorf("first %s, then %s", first, again)
			}
		}
		callAs(t, h, "ann", "t", `{"a":2}`)
		callAs(t, h, "ben", "t", `{"a":1}`)
		if n := count(); n != 3 {
			t.Errorf("it ran %d times for two questions and two callers", n)
		}
		load(t, h, src+"\n# changed\n")
		if callAs(t, h, "ann", "t", `{"a":1}`); count() != 3 {
			t.Error("it is forgotten although the tool has not changed")
		}
		time.Sleep(time.Minute)
		if callAs(t, h, "ann", "t", `{"a":1}`); count() != 4 {
			t.Error("it is kept for longer")
		}
		load(t, h, strings.Replace(src, "answer", "other", 1))
		if got := callAs(t, h, "ann", "t", `{"a":1}`); !strings.Contains(got, "other 5") {
			t.Errorf("what the tool has answered before it changed: %s", got)
		}
	})
}

func TestAKeptAnswerIsTheSameInEveryForm(t *testing.T) {
	w := newFakeBackend()
	w.do["value"] = func(context.Context, *adapters.Call) (any, error) {
		return map[string]any{"whole": 3.0, "null": nil, "list": []any{1, "x"}, "$odd": document(`{"a":[1.50]}`)}, nil
	}
	for _, body := range []string{
		`fake { do = "value" }`,
		`fake { do = "value" }
		 result = "output.value"`,
		`fake { do = "value" }
		 text = "${jsonencode(output.value)}"`,
		`fake { do = "value" }
		 result = "output.value.whole"`,
		`fake { value = null }
		 result = "output.value"`,
		`fake { do = "value" }
		content "text" { text = "a" }
		content "link" {
			uri  = "a://b"
			name = "b"
		}`,
		`fake { value = "just text" }`,
	} {
		h := newHost(t, tool("t", caching+body), w.use)
		for _, r := range []mcp.Revision{mcp.Revision20260728, mcp.Revision20250326} {
			if first, again := callToolAt(t, h, r, "t", `{}`), callToolAt(t, h, r, "t", `{}`); first != again {
				t.Errorf("%s\nfirst %s\nthen  %s", body, first, again)
			}
		}
		h.Close()
	}
}

func TestTheKeyOfACacheSaysWhatTheAnswerDependsOn(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", `
		read_only = true
		input "day" { type = string }
		input "note" { type = string }
		cache {
			ttl   = "1m"
			key   = [input.day]
			scope = "public"
		}
		fake { do = "count" }
		text = "${output.value} ${input.note}"
	`), w.use)
	for _, who := range []string{"ann", "ben"} {
		if got := callAs(t, h, who, "t", `{"day":"1","note":"`+who+`"}`); !strings.Contains(got, "1 ann") {
			t.Error(got)
		}
	}
	if callAs(t, h, "ann", "t", `{"day":"2","note":"ann"}`); count() != 2 {
		t.Errorf("it ran %d times", count())
	}
}

func TestWhoMayNotCallIsNotAnsweredFromTheCache(t *testing.T) {
	h := newHost(t, tool("t", "allow = \"caller.subject == 'ann'\"\n"+strings.Replace(caching, `{ ttl = "1m" }`, "{\nttl = \"1m\"\nscope = \"public\"\n}", 1)+`text = "for ann"`))
	callAs(t, h, "ann", "t", `{}`)
	if got := callAs(t, h, "ben", "t", `{}`); strings.Contains(got, "for ann") {
		t.Error(got)
	}
}

func TestCallsThatAskTheSameAtOnceWaitForOne(t *testing.T) {
	s := newSlowBackend()
	ran := 0
	slow := s.do["slow"]
	s.do["slow"] = func(ctx context.Context, c *adapters.Call) (any, error) { ran++; return slow(ctx, c) }
	inBubble(t, tool("t", caching+`fake { do = "slow" }`), s.use, func(t *testing.T, h *Host) {
		s.end = make(chan struct{})
		said := make(chan string, 30)
		for range 20 {
			go func() { said <- callAs(t, h, "ann", "t", `{}`) }()
		}
		synctest.Wait()
		impatient := callWithContext(contextWithTimeout(t, time.Second), h, "ann", "t", `{}`)
		close(s.end)
		for range 20 {
			if got := <-said; !strings.Contains(got, "done") {
				t.Error(got)
			}
		}
		if ran != 1 || !strings.Contains(impatient, "cancelled") {
			t.Errorf("it ran %d times; who went away was told %s", ran, impatient)
		}
	})
}

func TestWhoWaitsForOneThatGoesAwayTriesItself(t *testing.T) {
	s := newSlowBackend()
	inBubble(t, tool("t", caching+`fake { do = "slow" }`), s.use, func(t *testing.T, h *Host) {
		s.end = make(chan struct{})
		gone, cancel := context.WithCancel(t.Context())
		said := make(chan string, 10)
		go func() { said <- callWithContext(gone, h, "ann", "t", `{}`) }()
		synctest.Wait()
		for range 3 {
			go func() { said <- callAs(t, h, "ann", "t", `{}`) }()
		}
		synctest.Wait()
		cancel()
		if got := <-said; !strings.Contains(got, "cancelled") {
			t.Error(got)
		}
		synctest.Wait()
		if len(s.running) != 1 {
			t.Errorf("%d run", len(s.running))
		}
		close(s.end)
		for range 3 {
			if got := <-said; !strings.Contains(got, "done") {
				t.Error(got)
			}
		}
	})
}

func TestAFailureIsSharedAndNotKept(t *testing.T) {
	w := newFakeBackend()
	ran, mu := 0, sync.Mutex{}
	w.do["fails"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		if ran++; ran == 3 {
			panic("the third")
		}
		time.Sleep(time.Second)
		return nil, &adapters.Fault{Message: fmt.Sprint("failure ", ran)}
	}
	inBubble(t, tool("t", caching+`fake { do = "fails" }`), w.use, func(t *testing.T, h *Host) {
		said := make(chan string, 10)
		for range 3 {
			go func() { said <- callAs(t, h, "ann", "t", `{}`) }()
		}
		for range 3 {
			if got := <-said; !strings.Contains(got, "failure 1") {
				t.Error(got)
			}
		}
		if got := callAs(t, h, "ann", "t", `{}`); !strings.Contains(got, "failure 2") {
			t.Errorf("a failure is kept: %s", got)
		}
		if got := callAs(t, h, "ann", "t", `{}`); !strings.Contains(got, "problem on the server") {
			t.Error(got)
		}
		if got := callAs(t, h, "ann", "t", `{}`); !strings.Contains(got, "failure 4") {
			t.Errorf("after a panic: %s", got)
		}
	})
}

func TestAKeptAnswerDoesNotCount(t *testing.T) {
	inBubble(t, tool("t", caching+"limit { rate = \"1/h\" }\ninput \"a\" { type = integer }\ntext = \"done ${input.a}\""), new(fakeBackend).use, func(t *testing.T, h *Host) {
		for range 3 {
			if got := callAs(t, h, "ann", "t", `{"a":1}`); isLimited(got) {
				t.Error(got)
			}
		}
		if got := callAs(t, h, "ann", "t", `{"a":2}`); !isLimited(got) {
			t.Error(got)
		}
	})
}

func TestAToolIsAnsweredFromTheCacheAsAStepToo(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("rate", caching+`fake { do = "count" }
		result = "{n: output.value}"`)+tool("t", `
		step "a" {
			tool "rate" {}
		}
		result = "step.a.result.n + 10"`), w.use)
	for range 2 {
		if got := callAs(t, h, "ann", "t", `{}`); !strings.Contains(got, "11") || count() != 1 {
			t.Errorf("%s after %d", got, count())
		}
	}
}

func TestAnAnswerThatIsTooLargeToBeKeptIsGiven(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	inner := w.do["count"]
	w.do["large"] = func(ctx context.Context, c *adapters.Call) (any, error) {
		inner(ctx, c)
		return strings.Repeat("x", result.MaxCached+1), nil
	}
	h := newHost(t, tool("t", caching+"max_text = \"1KiB\"\nfake { do = \"large\" }"), w.use)
	for i := range 2 {
		if got := callAs(t, h, "ann", "t", `{}`); !strings.Contains(got, "xxx") || count() != i+1 {
			t.Errorf("%d: %.100s", count(), got)
		}
	}
}
