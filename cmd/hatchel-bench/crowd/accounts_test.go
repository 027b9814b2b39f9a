package crowd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestWhatWasReadIsTheSumOfItsRevisions(t *testing.T) {
	for text, want := range map[string]int{
		"":                                  0,
		"Revision 0000 of a tool":           0,
		"Revision 0012, then Revision 0003": 15,
	} {
		if got := reading([]byte(text)); got != want {
			t.Errorf("%q reads %d, want %d", text, got, want)
		}
	}
}

func TestAListenerThatWasNotToldMissesWhatItDoesNotKnow(t *testing.T) {
	w := newWorld(t.TempDir())
	l := w.newListener(1)
	last := len(l.follows) - 1
	for range 3 {
		l.follows[last].revise(time.Now())
	}
	if got := l.missing(); got != 3 {
		t.Errorf("%d revisions are missing", got)
	}
	if news := l.learn(last, 2); len(news) != 2 || l.missing() != 1 {
		t.Errorf("news %v, %d missing", news, l.missing())
	}
	if news := l.learn(last, 2); len(news) != 0 {
		t.Errorf("what it knew is news to it: %v", news)
	}
}

func TestListenersFollowOnlyTheirOwnToolset(t *testing.T) {
	w := newWorld(t.TempDir())
	both := map[string]int{}
	for n := range 96 {
		l := w.newListener(n)
		both[l.toolset+" of "+string(l.era)]++
		for _, f := range l.follows {
			if f.toolset != l.toolset {
				t.Errorf("listener %d of %q follows %v", n, l.toolset, f)
			}
		}
		if slices.Contains(l.follows, nil) {
			t.Errorf("listener %d follows nothing", n)
		}
	}
	if want := map[string]int{" of 2025-11-25": 36, " of 2026-07-28": 36, "office of 2025-11-25": 12, "office of 2026-07-28": 12}; !reflect.DeepEqual(both, want) {
		t.Errorf("the listeners are %v", both)
	}
}

func TestAlarmsAreFoundInALogAndMistakesOfAuthorsAreNone(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	text := `time=x level=INFO msg="all is well"
time=x level=ERROR msg="reload failed; the last good configuration is served on"
time=x level=ERROR msg="call failed"
==================
WARNING: DATA RACE
Write at 0x1 by goroutine 7:
`
	if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	found, err := alarms(log)
	want := []string{`time=x level=ERROR msg="call failed"`, "WARNING: DATA RACE\nWrite at 0x1 by goroutine 7:"}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%v, %q", err, found)
	}
}

func TestFabricatedArgumentsHaveWhatIsRequired(t *testing.T) {
	var s schema
	source := `{"type":"object","required":["a","b","c"],"$defs":{"d":{"const":7}},
		"properties":{"a":{"$ref":"#/$defs/d"},"b":{"enum":["x"]},"c":{"type":"string","minLength":30},"e":{"type":"array","minItems":2,"items":{"type":"integer","minimum":5}}}}`
	if err := json.Unmarshal([]byte(source), &s); err != nil {
		t.Fatal(err)
	}
	withE := false
	for range 100 {
		got := s.object(s)
		if got["a"] != 7.0 || got["b"] != "x" || len(got["c"].(string)) < 30 {
			t.Fatalf("fabricated is %v", got)
		}
		if list, ok := got["e"].([]any); ok {
			withE = true
			if len(list) < 2 || list[0].(float64) < 5 {
				t.Fatalf("fabricated is %v", got)
			}
		}
	}
	if !withE {
		t.Error("what is not required is never there")
	}
}
