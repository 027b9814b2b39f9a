// Package hold keeps a reload from being served until somebody has approved it: it compares a configuration with its
// lock, which is reviewed like code, and says which differences have to wait.
package hold

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/surface"
	"hatchel/runtime/load/access"
)

// Held says why a reload waits.
type Held struct {
	Class    string           `json:"class"`      // the value of hold: which differences wait
	Since    time.Time        `json:"held_since"` // the first load of this configuration that had to wait
	Revision string           `json:"revision"`   // of the configuration that waits
	Lock     string           `json:"lock_sha256,omitempty"`
	Problem  string           `json:"problem,omitempty"`
	Changes  []surface.Change `json:"changes"` // the differences to the lock that wait; none with a Problem

	earlier bool // the lock has an earlier version
	empty   bool // the configuration offers nothing any more
}

// Release says which lock has released a load that waited.
type Release struct {
	Since time.Time `json:"held_since"`
	Lock  string    `json:"lock_sha256"`
	Owner string    `json:"lock_owner"` // who owns the file of the lock, as in os:ann
}

// Checker decides which configurations a server may serve. It belongs to one goroutine at a time.
type Checker struct {
	Class  string // of --hold; empty for the hold of the configuration that is served
	Locked bool   // the first configuration must be that of the lock; later ones wait for any difference

	held   *Held // the latest load, if it waits
	locked match // a configuration that does not differ from its lock
}

// match is the digest of a lock and the revision of a configuration.
type match struct{ lock, revision string }

// Decision is what a Checker says about one load.
type Decision struct {
	Held        *Held // why the load waits; nil when it may be served
	IsNew       bool  // Held differs from that of the load before
	Diagnostics hcl.Diagnostics
}

// Decide decides about cfg, which is to replace served; served has no ID before the first load. Fsys holds the lock.
func (c *Checker) Decide(fsys fs.FS, served, cfg *hcl.Config) Decision {
	first := served.ID == ""
	class := c.classOf(served)
	if first {
		class = c.classOf(cfg)
	}
	if !first && served.ID == cfg.ID {
		return Decision{}
	}
	held := checkEmpty(fsys, served, cfg)
	if held == nil && class != "" {
		held = c.check(fsys, class, served, cfg)
	}
	switch {
	case held == nil:
		return Decision{}
	case first && held.earlier && c.Locked:
		return Decision{Held: held, Diagnostics: held.report(diag.Error, summaryEarlier, lockedEarlier)}
	case first && held.earlier:
		return Decision{Held: held, Diagnostics: held.report(diag.Error, summaryEarlier, startEarlier)}
	case first && c.Locked:
		return Decision{Held: held, Diagnostics: held.report(diag.Error, "Not the locked configuration", startLocked)}
	case first:
		return Decision{Diagnostics: held.report(diag.Warning, "Not the locked configuration", startUnlocked)}
	}
	before := c.held
	c.held = held
	isNew := before == nil || before.Revision != held.Revision || !slices.Equal(before.Lines(), held.Lines())
	if !isNew {
		held.Since = before.Since
	}
	todo := reloadHeld
	if held.empty {
		todo = reloadEmpty
	}
	return Decision{held, isNew, held.report(diag.Error, "Reload held", todo)}
}

// Release says which lock has released the load that is served; nil if none waited, or its files have changed instead.
// Dir is the directory of the lock.
func (c *Checker) Release(dir string) *Release {
	held := c.held
	c.held = nil
	if held == nil {
		return nil
	}
	owner, digest := statLock(dir)
	if digest == held.Lock {
		return nil
	}
	return &Release{held.Since, digest, owner}
}

func (c *Checker) classOf(cfg *hcl.Config) string {
	class := cmp.Or(c.Class, cfg.Server.Hold)
	if c.Locked {
		return cmp.Or(class, "any")
	}
	return class
}

// checkEmpty returns why a configuration without tools, or without anything, does not replace one that has some; nil if
// it does not wait for that reason. It waits whatever hold is, because nobody says so much by mistake in a lock: an
// empty commit, a directory that is not mounted, and a line * in .hatchelignore have no errors.
func checkEmpty(fsys fs.FS, served, cfg *hcl.Config) *Held {
	was, is := len(served.Tools), len(cfg.Tools)
	kind := "tools"
	if was == 0 {
		was = len(served.Prompts) + len(served.Resources) + len(served.Skills)
		is = len(cfg.Prompts) + len(cfg.Resources) + len(cfg.Skills)
		kind = "prompts, resources or skills"
	}
	if was == 0 || is > 0 {
		return nil
	}
	held := &Held{Class: surface.Breaking.String(), Since: time.Now(), Revision: cfg.ID, Changes: []surface.Change{},
		empty: true}
	if text, err := readLock(fsys); err == nil {
		held.Lock = digestOf(text)
		if lock, err := parseLock(text, cfg.Kinds); err == nil && len(lock.Tools) == 0 &&
			(kind == "tools" || len(lock.Prompts)+len(lock.Resources)+len(lock.Skills) == 0) {
			return nil
		}
	}
	held.Problem = fmt.Sprintf("The directory declares no %s any more, and the served configuration has %d: are its "+
		"files there, and does .hatchelignore exclude them?", kind, was)
	return held
}

// check returns why a configuration waits for its lock; nil when it does not. A lock that cannot be read is a reason,
// and so is every difference of the first configuration of a locked server.
func (c *Checker) check(fsys fs.FS, class string, served, cfg *hcl.Config) *Held {
	held := &Held{Class: class, Since: time.Now(), Revision: cfg.ID, Changes: []surface.Change{}}
	text, err := readLock(fsys)
	if err != nil {
		held.Problem = err.Error()
		return held
	}
	held.Lock = digestOf(text)
	threshold, err := surface.ParseThreshold(class)
	if err != nil {
		held.Problem = "The value of hold is not valid: " + err.Error() + "."
		return held
	}
	changes, err := c.differences(text, match{held.Lock, served.ID}, served, cfg)
	if err != nil {
		held.Problem = err.Error()
		_, held.earlier = err.(errEarlier)
		return held
	}
	if len(changes) == 0 {
		c.locked = match{held.Lock, cfg.ID}
	}
	exact := served.ID == "" && c.Locked
	for _, c := range changes {
		if exact || c.Class >= threshold && !c.Restriction {
			held.Changes = append(held.Changes, c)
		}
	}
	if len(held.Changes) == 0 {
		return nil
	}
	return held
}

// differences returns those of a configuration to its lock. If the served configuration is that of the lock, only what
// a reload has changed is compared.
func (c *Checker) differences(lock []byte, now match, served, cfg *hcl.Config) ([]surface.Change, error) {
	if served.ID == "" || now != c.locked {
		s, err := parseLock(lock, cfg.Kinds)
		if err != nil {
			return nil, err
		}
		return surface.Compare(s, access.Surface(cfg, nil)).Changes, nil
	}
	changes := Differences(served, cfg)
	for i := range changes {
		if changes[i].Removed { // in a file that may have changed since
			changes[i].Range = hcl.Range{}
		}
	}
	return changes, nil
}

// The last sentences of the diagnostics.
const (
	startLocked = "The server was started with --locked. Review the differences with hatchel diff, and approve " +
		"them with hatchel lock."
	summaryEarlier = "Lock of an earlier version"
	lockedEarlier  = "The server was started with --locked, which compares the configuration with the lock."
	startEarlier   = "The server was started with hold, which compares each reload with the lock."
	startUnlocked  = "They are served, because hold concerns reloads. Every later reload waits until hatchel lock " +
		"has approved them."
	reloadHeld = "The previous configuration stays. Review the differences with hatchel diff, and approve them with " +
		"hatchel lock."
	reloadEmpty = "The previous configuration stays. Put the files back, or, if that is what you want, release the " +
		"reload with hatchel lock."
)

// Differences returns what a reload means for callers, the most serious differences first.
func Differences(served, cfg *hcl.Config) []surface.Change {
	return surface.Compare(access.OfReload(served, cfg, nil)).Changes
}

// Lines returns differences as the audit log has them.
func Lines(changes []surface.Change) []string {
	lines := make([]string, len(changes))
	for i, c := range changes {
		lines[i] = c.Class.String() + " " + c.Place + ": " + c.Text
	}
	return lines
}

// maxLines is how many differences a diagnostic lists.
const maxLines = 20

// report returns the differences as one diagnostic.
func (h *Held) report(severity diag.Severity, summary, advice string) hcl.Diagnostics {
	d := &hcl.Diagnostic{Severity: severity, Summary: summary}
	if h.Problem != "" {
		d.Detail = h.Problem + " " + advice
		return hcl.Diagnostics{d}
	}
	lines := h.Lines()
	detail := "The differences to " + surface.LockName + " are:\n"
	detail += strings.Join(lines[:min(len(lines), maxLines)], "\n")
	if more := len(lines) - maxLines; more > 0 {
		detail += fmt.Sprintf("\nand %d more", more)
	}
	d.Detail = detail + "\n" + advice
	d.Subject = h.Changes[0].Range
	return hcl.Diagnostics{d}
}

// Lines returns the problem, or the differences, as the audit log has them.
func (h *Held) Lines() []string {
	if h.Problem != "" {
		return []string{h.Problem}
	}
	return Lines(h.Changes)
}
