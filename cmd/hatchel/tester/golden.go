package tester

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"hatchel/hcl"
	"hatchel/hcl/testblock"
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

// WriteGoldens writes the goldens that differ, and returns their names in the order of the tests. No file outside of
// the directory is written, be it through a link.
func (s *Suite) WriteGoldens(r *Report) (written []string, err error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, result := range r.Results {
		for name, content := range result.Goldens {
			name = filepath.FromSlash(name)
			if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return written, err
			}
			if err := root.WriteFile(name, content, 0o644); err != nil {
				return written, err
			}
			written = append(written, name)
		}
	}
	return written, nil
}

// AcceptGoldens takes the differences of goldens that were written out of the report.
func (r *Report) AcceptGoldens() {
	for _, result := range r.Results {
		if len(result.Goldens) == 0 {
			continue
		}
		result.Failures = slices.DeleteFunc(result.Failures, func(d *hcl.Diagnostic) bool {
			return slices.ContainsFunc(result.Expects, func(e *testblock.Expect) bool {
				return e.Values["golden"] != nil && e.Ranges["golden"] == d.Subject
			})
		})
		if len(result.Failures) == 0 {
			result.Status = Passed
		}
	}
}
