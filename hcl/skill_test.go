package hcl_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	. "hatchel/hcl"
)

func TestTheFilesOfAllSkillsAreBounded(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 15<<20)
	for n, refused := range map[int]bool{4: false, 5: true} {
		fsys, src := fstest.MapFS{}, ""
		for i := range n {
			name := fmt.Sprintf("s%d", i)
			src += fmt.Sprintf("skill %q {}\n", name)
			fsys["skills/"+name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: d\n---\n")}
			fsys["skills/"+name+"/large.txt"] = &fstest.MapFile{Data: large}
		}
		fsys["a.hcl"] = &fstest.MapFile{Data: []byte(src)}
		_, diags := Load(fsys, Kinds{}, Options{})
		if got := string(printed(t, diags, nil)); strings.Contains(got, "Skills too large") != refused {
			t.Errorf("%d skills: %s", n, got)
		}
	}
}
