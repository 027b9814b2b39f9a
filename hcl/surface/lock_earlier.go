package surface

import (
	"bytes"
	"encoding/json"
	"fmt"

	"hatchel/hcl"
	"hatchel/hcl/diag"
)

// A lock of version 1 has rules as they are written and digests of steps. What these mean cannot be told, so only the
// other members are compared with it.

// incomparable are the members of a lock, of its server, of its operations and of what these need of a caller that
// version 1 has in another form, or not at all.
var incomparable = struct{ lock, server, operation, may []string }{
	lock:      []string{"skills", "policies", "connections", "settings", "access"},
	server:    []string{"approvers", "keys", "issuers"},
	operation: []string{"does", "reads", "guards", "texts", "steps", "rest"},
	may:       []string{"allow", "approval", "checks"},
}

const earlierText = "the lock has version %d, in which rules, who may call what, checks, approvals, steps, texts of " +
	"results, keys, connections and settings cannot be compared: run hatchel lock"

// readEarlier reads a lock of version 1.
func readEarlier(text []byte) (*Surface, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var lock map[string]any
	if err := d.Decode(&lock); err != nil {
		return nil, &LockError{Line: lineOf(text, err), Text: "it is not a lock of hatchel: " + reason(err)}
	}
	for _, kind := range operationKinds {
		entries, _ := lock[kind].(map[string]any)
		for _, name := range diag.SortedNames(entries) {
			entry, _ := entries[name].(map[string]any)
			said := entry["digest"]
			if entry != nil {
				entry["digest"] = ""
			}
			if digest(canonical(entry)) != said {
				return nil, digestError(text, kind[:len(kind)-1]+" "+name)
			}
		}
	}
	return comparablePart(lock, 1)
}

// operationKinds are the members of a lock that hold operations.
var operationKinds = []string{"tools", "prompts", "resources"}

// comparablePart returns the surface of a decoded lock without what version 1 does not have in the form of today. It
// changes the lock.
func comparablePart(lock map[string]any, version int) (*Surface, error) {
	without := func(v any, names []string) {
		m, _ := v.(map[string]any)
		for _, name := range names {
			delete(m, name)
		}
	}
	without(lock, incomparable.lock)
	without(lock["server"], incomparable.server)
	for _, kind := range operationKinds {
		entries, _ := lock[kind].(map[string]any)
		for _, v := range entries {
			entry, _ := v.(map[string]any)
			without(entry, incomparable.operation)
			if entry != nil {
				without(entry["may"], incomparable.may)
				entry["digest"] = digest(canonical(entry))
			}
		}
	}
	var f lockFile
	d := json.NewDecoder(bytes.NewReader(canonical(lock)))
	d.UseNumber()
	if err := d.Decode(&f); err != nil {
		return nil, &LockError{Text: "it is not a lock of hatchel: " + reason(err)}
	}
	s, _, err := f.surface(hcl.Kinds{}) // steps are not compared
	if s != nil {
		s.Earlier = version
	}
	return s, err
}

// compareEarlier compares surfaces of which one is that of an earlier lock, and says what cannot be compared.
func compareEarlier(old, new *Surface) *Diff {
	version := max(old.Earlier, new.Earlier)
	part := func(s *Surface) *Surface {
		out, err := comparablePart(toJSON(s.file()).(map[string]any), 0)
		if err != nil {
			panic("surface: " + err.Error())
		}
		out.positions = s.positions
		return out
	}
	d := Compare(part(old), part(new))
	d.Changes = append(d.Changes, Change{Class: Breaking, Kind: "lock", Object: "lock", Place: LockName,
		Text: fmt.Sprintf(earlierText, version)})
	sortChanges(d.Changes)
	d.Step = step(d.Changes)
	return d
}

func digestError(text []byte, name string) error {
	const format = "the %s does not match its digest, so the file was edited or merged by hand: run hatchel lock"
	return &LockError{Line: lineOfEntry(text, name), Text: fmt.Sprintf(format, name)}
}
