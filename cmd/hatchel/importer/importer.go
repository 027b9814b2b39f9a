// Package importer writes blocks that were generated from somebody else's description, such as an API document or the
// catalog of a database, to the files of a configuration directory. It never overwrites what the author of the
// directory has changed.
package importer

import (
	"cmp"
	"encoding/json"
	"slices"

	"hatchel/internal/lazyregexp"
)

// Result is what an import of one source generates. Blocks of one File are written in their order.
type Result struct {
	// Source names the import within its directory, such as "schema postgres desk". A later import with the same
	// name updates the blocks of the earlier one.
	Source string
	// From is the file that was read, relative to the directory, or the URL; empty if it cannot be read again.
	From   string
	Flags  map[string][]string // how it was selected and mapped, for the next import
	Digest string              // of the source; empty if it has none
	Blocks []Block
	Losses []Loss
	// Exports are the environment variables that the secrets of the blocks read. Their values are unknown here.
	Exports []string
	// Notes are sentences about what was written, for the report.
	Notes []string
	// OnlyTools says that Blocks has tools alone: the other blocks of the earlier import stay as they are.
	OnlyTools bool
	// Files are whole files by name, with slashes, that replace what is there: people do not edit them.
	Files map[string][]byte
}

// Block is one generated top-level block.
type Block struct {
	File   string // relative to the directory, with slashes; from FileName
	Text   string // the block with the comments above it; it is formatted when it is written
	Origin string // its place in the source, such as "public.invoices"
	Header string // its type and labels, such as "tool list_orders", if it was loaded; Write parses other blocks
}

// Check reports why blocks are not valid together, or nil. The error is a Warnings if they are valid with warnings.
type Check func(blocks ...string) error

// Warnings are the warnings of blocks that are valid.
type Warnings []string

func (w Warnings) Error() string { return w[0] }

// Loss is something of the source that a block does not have.
type Loss struct {
	Name   string `json:"name"`             // of the tool or of the part of the source
	Kind   string `json:"kind"`             // a few constant words, by which losses are counted
	Detail string `json:"detail,omitempty"` // why, and what was written instead
	Origin string `json:"origin,omitempty"`
}

// Lose adds a Loss, without the credentials of the source.
func (r *Result) Lose(name, kind, detail, origin string) {
	r.Losses = append(r.Losses, Loss{WithoutCredentials(name), kind, WithoutCredentials(detail), origin})
}

// Empty reports whether nothing of the source could be mapped that a client can use: the result has no tool and no
// prompt.
func (r *Result) Empty() bool {
	return !slices.ContainsFunc(r.Blocks, func(b Block) bool { return offered.MatchString(b.Text) })
}

var offered = lazyregexp.New(`(?m)^(tool|prompt) "`)

// Unwritten returns the report of a result that is not written.
func (r *Result) Unwritten() *Report {
	return &Report{Source: r.Source, Entries: []Entry{}, Files: []string{}, Losses: r.Losses, Exports: []string{}}
}

// Export adds an environment variable of a secret.
func (r *Result) Export(name string) {
	if !slices.Contains(r.Exports, name) {
		r.Exports = append(r.Exports, name)
	}
}

// State is what Write did with a block.
type State string

// The states of a block. The first three are written without asking; see Write.
const (
	Added     State = "added"
	Replaced  State = "replaced"
	Unchanged State = "unchanged"
	Kept      State = "kept"     // the author has changed it, and the source has not
	Removed   State = "removed"  // the author has removed it
	Conflict  State = "conflict" // both have changed it: the new text is in a file with the suffix .new
	Gone      State = "gone"     // the source has it no more; the block is kept
	Renamed   State = "renamed"  // the source has changed its name alone; so has the block, with the author's changes
	Foreign   State = "foreign"  // a block that this import did not write has its name; it is kept
)

// Entry is the state of one block.
type Entry struct {
	Block  string `json:"block"` // such as "tool list_invoices"
	File   string `json:"file"`
	Origin string `json:"origin,omitempty"`
	State  State  `json:"state"`
	Before string `json:"before,omitempty"` // of a renamed block: its earlier name
}

// Report is the outcome of an import.
type Report struct {
	Source  string   `json:"source"`
	Entries []Entry  `json:"blocks"`
	Files   []string `json:"files"` // written, or that would be
	Losses  []Loss   `json:"losses"`
	Exports []string `json:"exports"`
	Notes   []string `json:"notes,omitempty"`
	// Diff is what an update changes for callers, as hatchel diff prints it.
	Diff json.RawMessage `json:"diff,omitempty"`
	// Contents are the files by name.
	Contents map[string][]byte `json:"-"`
}

// Count returns the number of blocks in a state.
func (r *Report) Count(s State) (n int) {
	for _, e := range r.Entries {
		if e.State == s {
			n++
		}
	}
	return n
}

// Tools returns the number of tools that the import has generated.
func (r *Report) Tools() (n int) {
	for _, e := range r.Entries {
		if len(e.Block) > 5 && e.Block[:5] == "tool " && e.State != Gone && e.State != Removed {
			n++
		}
	}
	return n
}

// kinds returns the kinds of losses with their numbers, most frequent first.
func (r *Report) kinds() (kinds []string, count map[string]int) {
	count = map[string]int{}
	for _, l := range r.Losses {
		if count[l.Kind]++; count[l.Kind] == 1 {
			kinds = append(kinds, l.Kind)
		}
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return kinds, count
}
