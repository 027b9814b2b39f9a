package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hatchel/hcl/agentskill"
	"hatchel/hcl/diag"
)

// authorSkill is the skill that teaches the agents of authors to write configurations: a SKILL.md, examples, and
// references that are made of the documentation. Servers do not serve it.
//
//go:embed skill
var authorSkill embed.FS

// authorSkillName is the name of the skill, and of its directory.
const authorSkillName = "hatchel"

// skillHomes are the directories in which programs look for the skills of a project.
var skillHomes = map[string]string{
	"claude-code": ".claude/skills", "codex": ".agents/skills", "cursor": ".cursor/skills", "agents": ".agents/skills",
}

// skillPrograms returns the names of the programs for which the skill can be installed, sorted. "agents" stands for
// those that share a directory.
func skillPrograms() []string { return diag.SortedNames(skillHomes) }

// skillFiles returns the paths of the files of the skill, sorted.
func skillFiles() (names []string) {
	walk := func(at string, e fs.DirEntry, _ error) error {
		if !e.IsDir() {
			names = append(names, strings.TrimPrefix(at, "skill/"))
		}
		return nil
	}
	if err := fs.WalkDir(authorSkill, "skill", walk); err != nil {
		panic(err) // the files are part of the program
	}
	slices.Sort(names)
	return names
}

// readSkillFile returns a file of the skill.
func readSkillFile(file string) ([]byte, error) {
	return authorSkill.ReadFile(path.Join("skill", file))
}

// installSkill writes the skill for a program into a project, and returns the directory. It replaces the files of an
// earlier version; another skill of the same name is an error.
func installSkill(program, project string) (dir string, err error) {
	dir = filepath.Join(project, filepath.FromSlash(skillHomes[program]), authorSkillName)
	manifest := filepath.Join(dir, agentskill.ManifestName)
	if src, err := os.ReadFile(manifest); err == nil {
		if known, err := agentskill.ParseFrontmatter(src); err != nil || known.Name != authorSkillName {
			return "", fmt.Errorf("%s is that of another skill", manifest)
		}
	}
	for _, file := range skillFiles() {
		content, err := readSkillFile(file)
		if err != nil {
			return "", err
		}
		at := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}
