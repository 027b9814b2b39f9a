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
			content := result.Goldens[name]
			if other := written[name]; other != nil && !bytes.Equal(other.Goldens[name], content) {
				return fmt.Errorf("the tests %q and %q have different results for %s; with each, write golden = "+
					"\"…-${each.key}.json\"", other.Name, result.Name, name)
			} else if other != nil {
				continue
			}
			file := filepath.FromSlash(name)
			if err := root.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := root.WriteFile(file, content, 0o644); err != nil {
				return err
			}
			written[name] = result
			fmt.Fprintf(w, "written: %s\n", name)
			for _, d := range result.Failures {
				if difference, _, ok := strings.Cut(d.Detail, updateHint); ok && result.isGolden(d) {
					fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(difference, "\n", "\n  "))
				}
			}
		}
	}
	return nil
}

// updateHint follows the differences of a golden.
const updateHint = "\nIf the new result is right, hatchel test --update writes it to "

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
