package surface

import (
	"hatchel/hcl"
	"hatchel/hcl/diag"
)

func (b *builder) skill(s *hcl.Skill) {
	out := &Skill{URI: s.URI, Files: map[string]string{}}
	b.operation(&out.Operation, &s.Operation, "skill", skillCovered)
	out.Description, out.Listed = s.Description, true
	for _, f := range s.Content.Files {
		out.Files[f.Path] = f.Digest
		if f.IsScript() {
			out.Scripts = append(out.Scripts, f.Path)
		}
	}
	out.Digest = digest(canonical(out))
	b.out.Skills[s.Name] = out
}

// skills compares the skills. One that was added lets agents do nothing that they could not do before, unless it has
// scripts, which they may run where they are.
func (c *comparison) skills() {
	for _, name := range diag.SortedNames(c.new.Skills) {
		b := c.new.Skills[name]
		if c.old.Skills[name] == nil {
			c.object = "skill " + name
			c.add(Behaviour, "skill-added", c.object, "skill added")
			c.scripts(c.object, nil, b.Scripts)
		}
	}
	for _, name := range diag.SortedNames(c.old.Skills) {
		c.object = "skill " + name
		a, b := c.old.Skills[name], c.new.Skills[name]
		if b == nil {
			c.add(Breaking, "skill-removed", c.object, "skill removed")
			continue
		}
		c.skill(c.object, a, b)
	}
}

func (c *comparison) skill(at string, a, b *Skill) {
	if a.URI != b.URI {
		c.add(Breaking, "resource-uri", at+".path", "%s → %s", a.URI, b.URI)
	}
	c.operation("skill", at, &a.Operation, &b.Operation)
	c.scripts(at, a.Scripts, b.Scripts)
	for _, file := range diag.SortedNames(union(a.Files, b.Files)) {
		was, is := a.Files[file], b.Files[file]
		switch {
		case is == "":
			c.add(Behaviour, "skill-file", at+".directory", "file removed: %s", file)
		case was == "":
			c.add(Behaviour, "skill-file", at+".directory", "file added: %s", file)
		case was != is:
			c.add(Behaviour, "skill-file", at+".directory", "file changed: %s", file)
		}
	}
}

// scripts compares which files of a skill are scripts or programs.
func (c *comparison) scripts(at string, old, new []string) {
	for _, file := range missing(new, old) {
		c.add(Widening, "skill-script", at+".directory", "script added: %s", file)
	}
	for _, file := range missing(old, new) {
		c.add(Behaviour, "skill-script", at+".directory", "script removed: %s", file)
	}
}
