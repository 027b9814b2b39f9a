package soak

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hatchel/cmd/hatchel-bench/process"
)

func TestLoadOfTwoHundredListenersLosesNothingAndLeaksNothing(t *testing.T) {
	dir := t.TempDir()
	binary, err := process.Build(t.Context(), dir, raceEnabled)
	if err != nil {
		t.Fatal(err)
	}
	r, err := load(t.Context(), Options{
		Binary: binary, Folder: dir, Listeners: 200, Rate: 50, Race: raceEnabled, Duration: 5 * time.Second, Logf: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Write(t.Output())
	for _, failure := range r.Failures() {
		t.Error(failure)
	}
	received := int(r.received.Load())
	if len(r.latency) < 200 || r.changes < 3 || received < r.due || r.due < 200 {
		t.Errorf("%d calls, %d changes, %d of %d notifications: not a load", len(r.latency), r.changes, received, r.due)
	}
}

func TestSumRevisionsAddsAllRevisionsOfAText(t *testing.T) {
	for text, want := range map[string]int{
		"":                                  0,
		"Revision 0000 of a tool":           0,
		"Revision 0012, then Revision 0003": 15,
	} {
		if got := sumRevisions(text); got != want {
			t.Errorf("sumRevisions(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestListenerWithoutNotificationMissesTheChange(t *testing.T) {
	f := newFolder(t.TempDir())
	c := f.changes[1]
	subscribed := &listener{topics: c.topics[:1], known: map[*topic]int{}, notified: map[*topic][]time.Time{}}
	a := &audience{report: newReport(), listeners: []*listener{subscribed, {topics: f.changes[0].topics}}}
	c.record()
	if _, _, missing := a.check(c); missing != 1 {
		t.Errorf("%d listeners miss the change before the notification, want 1", missing)
	}
	subscribed.known[c.topics[0]] = 1
	if _, _, missing := a.check(c); missing != 0 {
		t.Errorf("%d listeners miss the change after they read it, want 0", missing)
	}
}

func TestErrorsAndRacesInTheLogFailButNoMistakesOfAuthors(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	text := `time=x level=INFO msg="configuration reloaded"
time=x level=ERROR msg="reload failed, the last valid configuration stays active"
time=x level=ERROR msg="tool call failed"
==================
WARNING: DATA RACE
Write at 0x1 by goroutine 7:
`
	if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newReport()
	err := r.failAlarms(log)
	want := []string{
		"log: level=ERROR msg=\"tool call failed\": time=x level=ERROR msg=\"tool call failed\"",
		"log: WARNING: DATA RACE: WARNING: DATA RACE\nWrite at 0x1 by goroutine 7:",
	}
	if found := r.Failures(); err != nil || !slices.Equal(found, want) {
		t.Errorf("%v, %q", err, found)
	}
}

func TestCallsOfMCPServersAreJudgedByWhatWasCarriedOut(t *testing.T) {
	written, err := os.OpenFile(filepath.Join(t.TempDir(), "written"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	if _, err := written.WriteString("1\n2\n2\n3\n5\n"); err != nil {
		t.Fatal(err)
	}
	outcomes := map[int]outcome{1: done, 2: unknown, 3: unsent, 4: done, 5: unknown, 6: unsent}
	u := &upstreams{written: written, outcomes: outcomes}
	r := newReport()
	err = u.judge(r)
	want := []string{
		"upstream call hidden: 3 was carried out, and is said not to be sent",
		"upstream call lost: 4 has an answer, and was not carried out",
		"upstream call repeated: 2 was carried out 2 times",
	}
	found := r.Failures()
	slices.Sort(found)
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%v, %q", err, found)
	}
}
