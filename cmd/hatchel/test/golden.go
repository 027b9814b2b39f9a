package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// indent encodes a result as a golden holds it.
func indent(v any) []byte {
	encoded, err := value.AppendJSON(nil, v)
	var out bytes.Buffer
	if err == nil {
		err = json.Indent(&out, encoded, "", "  ")
	}
	if err != nil {
		return nil // the value was decoded from JSON
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// golden is a file that differs from a result.
type golden struct {
	content    []byte // that the result would write
	difference string // the first one between two JSON values; empty for another
}

// WriteGoldens writes the goldens that differ, in the order of the tests, and prints how. No file outside of the
// directory is written, be it through a link. The error says which tests write different goldens to one file.
func (s *Suite) WriteGoldens(w io.Writer, r *Report) error {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	written := map[string]*Result{}
	for _, result := range r.Results {
		for _, name := range slices.Sorted(maps.Keys(result.Goldens)) {
			found := result.Goldens[name]
			if other := written[name]; other != nil && !bytes.Equal(other.Goldens[name].content, found.content) {
				return fmt.Errorf("the tests %q and %q have different results for %s; with each, write golden = "+
					"\"…-${each.key}.json\"", other.Name, result.Name, name)
			} else if other != nil {
				continue
			}
			file := filepath.FromSlash(name)
			if err := root.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := root.WriteFile(file, found.content, 0o644); err != nil {
				return err
			}
			written[name] = result
			fmt.Fprintf(w, "written: %s\n", name)
			if found.difference != "" {
				fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(found.difference, "\n", "\n  "))
			}
		}
	}
	return nil
}

// isGolden reports whether a failure is about a golden.
func (r *Result) isGolden(d *hcl.Diagnostic) bool {
	return slices.ContainsFunc(r.Expects, func(e *testblock.Expect) bool {
		return e.Values["golden"] != nil && e.Ranges["golden"] == d.Subject
	})
}

// AcceptGoldens takes the differences of goldens that were written out of the report.
func (r *Report) AcceptGoldens() {
	for _, result := range r.Results {
		if len(result.Goldens) == 0 {
			continue
		}
		result.Failures = slices.DeleteFunc(result.Failures, result.isGolden)
		if len(result.Failures) == 0 {
			result.Status = Passed
		}
	}
}
