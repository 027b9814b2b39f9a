package call

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/opencall"
)

// TestAFrozenCallThawsToItself freezes random calls, and reads each stored form again.
func TestAFrozenCallThawsToItself(t *testing.T) {
	const maxSteps = 5
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := randomCall(r, maxSteps)
		frozen, err := want.freeze()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := thaw(frozen, maxSteps, unlimited)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %v\n%s\nbecame %+v\nis     %+v", seed, err, frozen, got, want)
		}
		if again, err := got.freeze(); err != nil || !bytes.Equal(again, frozen) {
			t.Fatalf("seed %d: %v\n%s\nis frozen again as %s", seed, err, frozen, again)
		}
	}
}

// TestEveryMemberOfAPausedCallIsFrozen finds a member that is added to a paused call and not to its stored form: random
// calls set each member but the two that say what an older program has not recorded.
func TestEveryMemberOfAPausedCallIsFrozen(t *testing.T) {
	set := map[string]bool{"unknownChanges": true, "unknownFailures": true}
	for seed := range uint64(200) {
		v := reflect.ValueOf(randomCall(rand.New(rand.NewPCG(seed, 1)), 5))
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				set[v.Type().Field(i).Name] = true
			}
		}
	}
	typ := reflect.TypeFor[pausedCall]()
	for i := range typ.NumField() {
		if !set[typ.Field(i).Name] {
			t.Errorf("randomCall never sets %s, so nobody knows whether it is frozen", typ.Field(i).Name)
		}
	}
}

// TestStoredCallsOfTheProgramBeforeAreReadAndWrittenAlike reads what the program before this one has stored. What this
// one stores of the same call is the same text, so that the one before reads it, too.
func TestStoredCallsOfTheProgramBeforeAreReadAndWrittenAlike(t *testing.T) {
	files, err := filepath.Glob("testdata/frozen/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no stored calls: %v", err)
	}
	for _, file := range files {
		stored, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := thaw(stored, 3, unlimited)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var version struct{ V int }
		if json.Unmarshal(stored, &version) != nil || version.V == 0 {
			continue // before there were versions
		}
		if frozen, err := p.freeze(); err != nil || !bytes.Equal(frozen, stored) {
			t.Errorf("%s: %v\n%s\nis stored as\n%s", file, err, stored, frozen)
		}
	}
}

// randomCall returns a paused call with at most so many steps.
func randomCall(r *rand.Rand, steps int) pausedCall {
	maybe := func() bool { return r.IntN(2) == 0 }
	p := pausedCall{
		next: r.IntN(steps + 1), spent: time.Duration(r.IntN(1e6)) * time.Millisecond, steps: randomMap(r, 0),
	}
	if maybe() {
		p.locals, p.input = randomMap(r, 0), randomMap(r, 0)
	}
	if maybe() {
		p.done, p.trace, p.key = randomMap(r, 0), "00-"+randomText(r), randomText(r)
	}
	if maybe() {
		p.approval = &frozenApproval{Stage: approvalWaiting, Fingerprint: randomText(r)}
		if maybe() {
			at := time.Unix(int64(r.IntN(2e9)), 0).UTC()
			p.approval.Record = &audit.Approval{ID: randomText(r), By: randomText(r), At: at, Rules: []string{"a", "b"}}
		}
	}
	for range r.IntN(3) {
		p.changes = append(p.changes, adapters.Part{Name: randomText(r), Done: r.IntN(3), Unknown: r.IntN(2)})
	}
	if maybe() {
		p.failures = adapters.Failures{Of: 3, Failed: r.IntN(3), Step: "a", Key: randomText(r), Error: randomText(r)}
	}
	if p.next < steps && maybe() {
		p.asking = randomAsking(r)
	}
	if maybe() {
		p.lifted = []string{"contact", randomText(r)}
	}
	return p
}

func randomAsking(r *rand.Rand) *asking {
	name := &schema.Member{Name: "name", Type: &schema.Type{Kind: schema.String, Title: "Name <&>"}}
	a := &asking{questions: []adapters.Question{
		{Key: "db.1", Message: "Who?", Fields: schema.ObjectOf(name), Timeout: time.Minute},
		{Key: "db.2", Message: "Where?", URL: "https://example.com/", Timeout: time.Second},
		{Key: "db.3", Sample: []byte(`{"messages":[]}`), Timeout: time.Hour},
	}[:1+r.IntN(3)]}
	if r.IntN(2) == 0 {
		a.resume = []byte(randomText(r) + "x")
	} else {
		a.open = opencall.Ref{Process: "p", Name: "n"}
	}
	return a
}

func randomMap(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(4) {
		m[randomText(r)] = randomValue(r, depth+1)
	}
	return m
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(11); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return r.IntN(1 << 53)
	case n == 3:
		return [...]float64{0.5, 3, math.Inf(1), -0.25, 1e300, math.Copysign(0, -1)}[r.IntN(6)]
	case n == 4:
		return value.Bytes(randomText(r))
	case n == 5:
		return elicit.FileRef{"file_id": "file_a", "filename": fmt.Sprint(r.IntN(9))}
	case n == 6 && depth < 4:
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = randomValue(r, depth+1)
		}
		return list
	case n == 7 && depth < 4:
		return randomMap(r, depth)
	}
	return randomText(r)
}

// randomText returns a text that may look like a member of a frozen value, or be no UTF-8.
func randomText(r *rand.Rand) string {
	parts := [...]string{"a", "$", "$bytes", "$$", "<&>", "\u2028", `"`, "\\", "é", "\x00", "null", "0"}
	text := ""
	for range r.IntN(4) {
		text += parts[r.IntN(len(parts))]
	}
	return text
}
