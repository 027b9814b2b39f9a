package test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
)

// recordedTape is a tape and the tests that have recorded it.
type recordedTape struct {
	*Tape
	name  string
	of    *Result
	named bool // a mock of the test names it
}

// WriteTapes writes the tapes that the tests of a report recorded, and prints their names. complete reports whether all
// could be written.
func (s *Suite) WriteTapes(w io.Writer, r *Report) (complete bool, err error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return false, err
	}
	defer root.Close()
	written, complete := map[string]*Result{}, true
	for _, t := range r.tapes() {
		reason := t.Reason
		if other := written[t.name]; other != nil {
			reason = fmt.Sprintf("the test %q recorded it, too; name a tape for each test, such as tape = "+
				"\"orders-${each.key}%s\"", other.Name, testblock.TapeSuffix)
		}
		if reason != "" {
			complete = false
			fmt.Fprintf(w, "not recorded: %s: %s\n", t.name, reason)
			continue
		}
		before, _ := root.ReadFile(filepath.FromSlash(t.name)) // one that does not exist is empty
		err := root.MkdirAll(filepath.Dir(filepath.FromSlash(t.name)), 0o755)
		if err == nil {
			err = root.WriteFile(filepath.FromSlash(t.name), t.Content, 0o644)
		}
		if err != nil {
			return false, err
		}
		written[t.name] = t.of
		fmt.Fprintf(w, "recorded: %s (%s)\n", t.name, exchanges(t.Exchanges))
		for _, line := range tapeDifferences(before, t.Content) {
			fmt.Fprintf(w, "  %s\n", line)
		}
		if !t.named {
			fmt.Fprintf(w, "  write in the test %q: mock %s { tape = %q }\n", t.of.Name, label(t.Tape), t.name)
		}
	}
	return complete, nil
}

// PrintLive writes which real backends the selected tests may use.
func (s *Suite) PrintLive(w io.Writer) {
	var names []string
	for _, c := range s.Cases {
		for _, op := range operations(reduce(c.config, c)) {
			for _, step := range op.Steps {
				name := step.Backend.Kind
				switch conn := step.Backend.Connection; {
				case c.config.Kinds.Mock(name) == nil:
					continue
				case conn != nil:
					name = fmt.Sprintf("%s %q", conn.Kind, conn.Name)
				}
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	what := "only requests that read"
	if s.Live.Writes {
		what = "also requests that may change something; transactions are rolled back"
	}
	if names != nil {
		fmt.Fprintf(w, "used where no mock answers: %s (%s)\n", strings.Join(names, ", "), what)
	}
}

func exchanges(n int) string {
	if n == 1 {
		return "1 exchange"
	}
	return fmt.Sprintf("%d exchanges", n)
}

func label(t *Tape) string {
	if t.Connection == "" {
		return fmt.Sprintf("%q", t.Kind)
	}
	return fmt.Sprintf("%q %q", t.Kind, t.Connection)
}

// tapes returns the recorded tapes with the names of their files.
func (r *Report) tapes() (tapes []*recordedTape) {
	for _, result := range r.Results {
		for i, t := range result.Tapes {
			name := t.Name
			if name == "" {
				name = slug(result.Name)
				if len(result.Tapes) > 1 {
					name += "-" + slug(cmp.Or(t.Connection, t.Kind))
				}
				name = path.Join(path.Dir(result.File()), name+testblock.TapeSuffix)
			}
			tapes = append(tapes, &recordedTape{result.Tapes[i], name, result, t.Name != ""})
		}
	}
	return tapes
}

var notInNames = lazyregexp.New(`[^\pL\pN]+`)

const maxSlug = 80 // runes

// slug returns a text as it can be the name of a file.
func slug(text string) string {
	runes := []rune(strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-"))
	return cmp.Or(string(runes[:min(len(runes), maxSlug)]), "test")
}

const maxTapeDifferences = 10

// tapeDifferences returns where the types of the values in two contents of a tape differ.
func tapeDifferences(before, after []byte) []string {
	b, err := value.Decode(before)
	a, otherErr := value.Decode(after)
	if errors.Join(err, otherErr) != nil {
		return nil
	}
	d := differences{since: true}
	d.compare("tape", shape(b), shape(a))
	lines := d.lines
	if more := len(lines) + d.more - maxTapeDifferences; more > 0 {
		lines = append(lines[:maxTapeDifferences], fmt.Sprintf("… %d more", more))
	}
	return slices.Clone(lines)
}

// shape returns a value with the names of types in place of its texts, numbers and bools.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = shape(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = shape(e)
		}
		return out
	case nil:
		return nil
	}
	return value.Kind(v)
}
