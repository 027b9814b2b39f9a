package served

import (
	"bytes"
	"maps"
	"slices"

	"hatchel/hcl"
)

// Change is how a configuration differs from another. Tools are called by their names, everything
// else as "prompt review", "policy finance" or "connection http shop".
type Change struct {
	Previous  string   `json:"previous,omitempty"` // the revision of the other; empty for none
	Added     []string `json:"added"`
	Removed   []string `json:"removed"`
	Changed   []string `json:"changed"`
	Unchanged int      `json:"unchanged"`
}

// Revision is what a generation served.
type Revision struct {
	ID    string
	parts []part
}

// OnlyTestsDiffer reports whether a configuration differs from the served one, whose files have changed since sources
// were read, in nothing that is served: in tests or comments.
func OnlyTestsDiffer(served, loaded *hcl.Config, sources map[string][]byte) bool {
	return served.ID == loaded.ID && !maps.EqualFunc(sources, loaded.Sources, bytes.Equal) &&
		slices.Equal(configDigests(served), configDigests(loaded))
}

func configDigests(c *hcl.Config) (digests []string) {
	for _, t := range c.Tools {
		digests = append(digests, t.Digest)
	}
	for _, p := range c.Prompts {
		digests = append(digests, p.Digest)
	}
	for _, r := range c.Resources {
		digests = append(digests, r.Digest)
	}
	for _, s := range c.Skills {
		digests = append(digests, s.Digest)
	}
	for _, s := range c.Settings {
		digests = append(digests, s.Digest)
	}
	return digests
}

func (s *Served) Revision() Revision { return Revision{s.Config.ID, s.Parts()} }

// part is one thing that a generation offers, as it is called in a report.
type part struct{ name, digest string }

// Parts are the tools, prompts, resources and skills by name, and then all other blocks.
func (s *Served) Parts() (all []part) {
	for _, p := range s.Sorted {
		all = append(all, part{p.Decl.Name, p.Decl.Digest})
	}
	for _, p := range s.Prompts {
		all = append(all, part{p.Label(), p.Decl.Digest})
	}
	for _, r := range slices.Concat(s.Resources, s.Skills) {
		all = append(all, part{r.Label(), r.Decl.Digest})
	}
	for _, s := range s.Config.Settings {
		all = append(all, part{s.Name, s.Digest})
	}
	return all
}

// Compare returns how the next revision differs.
func (s Revision) Compare(next Revision) Change {
	c := Change{Previous: s.ID, Added: []string{}, Removed: []string{}, Changed: []string{}}
	before := map[string]string{}
	for _, p := range s.parts {
		before[p.name] = p.digest
	}
	for _, p := range next.parts {
		switch digest, ok := before[p.name]; {
		case !ok:
			c.Added = append(c.Added, p.name)
		case digest != p.digest:
			c.Changed = append(c.Changed, p.name)
		default:
			c.Unchanged++
		}
		delete(before, p.name)
	}
	for _, p := range s.parts {
		if _, gone := before[p.name]; gone {
			c.Removed = append(c.Removed, p.name)
		}
	}
	return c
}
