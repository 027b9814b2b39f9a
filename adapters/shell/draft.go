package shell

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// A draft is the command of one call, and what of it may be shown.
type draft struct {
	command
	folder  string     // dir as the author and the caller know it
	script  bool       // the program is the interpreter of a script
	entries []variable // of env, in the order of writing
	given   string     // the uploaded file that is stdin, as it is shown; empty for anything else
	secrets []string   // values that nobody else may see
}

// A variable is one entry of env.
type variable struct {
	name, value string
	secret      bool
}

// draft computes the command of a call. Its error is a *adapters.Fault.
func (a *action) draft(f *hcl.Frame) (*draft, error) {
	d := &draft{command: command{merge: a.block.Stderr == merged, limit: int(a.block.MaxOutput), confined: a.confined}}
	for _, part := range []func(*hcl.Frame, *draft) error{a.fillWords, a.fillDir, a.fillEnv, a.fillStdin} {
		if err := part(f, d); err != nil {
			return nil, &adapters.Fault{Message: err.Error()}
		}
	}
	if f.StagedDir != nil {
		d.copies = f.StagedDir()
	}
	return d, nil
}

func (a *action) fillWords(f *hcl.Frame, d *draft) (err error) {
	var words []string
	switch b := a.block; {
	case b.Pipe != nil:
		d.stages, err = b.Pipe.Bind(f)
		return err
	case b.Command != nil:
		words, err = b.Command.Bind(f, make([]string, 0, 8))
	case b.Script != nil:
		words, d.script = b.Script.Argv(), true
	default:
		words, d.script = a.file, true
	}
	d.stages = [][]string{words}
	return err
}

func (a *action) fillDir(f *hcl.Frame, d *draft) error {
	d.dir, d.folder = a.dir, "of the tools"
	if a.block.Dir == nil {
		return nil
	}
	path, err := a.block.Dir.Render(f)
	if err != nil {
		return err
	}
	if _, known := a.block.Dir.Known(); !known {
		if err := checkFolder(path); err != nil {
			return err
		}
	}
	d.dir, d.folder = below(a.folder, path), path
	return nil
}

// checkFolder refuses what a value could leave a folder with that the author wrote around it.
func checkFolder(path string) error {
	if slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..") {
		return fmt.Errorf("the working folder %q holds \"..\", which leads out of it; send a name without", path)
	}
	if strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("the working folder holds a NUL character; send a name without")
	}
	return nil
}

func (a *action) fillEnv(f *hcl.Frame, d *draft) error {
	d.env = a.base
	for _, entries := range a.env {
		evaluated, err := entries.Eval(f)
		if err != nil {
			return err
		}
		for _, e := range evaluated {
			if entries == a.block.Env && decides(e.Name) {
				return fmt.Errorf("the variable %s decides what code runs and cannot be set by a call", e.Name)
			}
			if err := d.addVariable(e, entries.Secret(e.Name)); err != nil {
				return err
			}
		}
	}
	if a.block.Script != nil {
		values, err := a.block.Script.Env(f)
		if err != nil {
			return err
		}
		for _, entry := range values {
			name, v, _ := strings.Cut(entry, "=")
			d.entries = append(d.entries, variable{name, v, false})
		}
	}
	if len(d.entries) > 0 {
		d.env = append(make(environ, 0, len(a.base)+len(d.entries)), a.base...)
	}
	for _, v := range d.entries {
		d.env = d.env.set(v.name, v.value)
		d.ownTemp = d.ownTemp || v.name == "TMPDIR"
	}
	return nil
}

func (d *draft) addVariable(e hcl.KeyValue, secret bool) error {
	if !isVariable(e.Name) {
		return fmt.Errorf("%q is not the name of a variable of the environment", e.Name)
	}
	text, err := variableText(e.Name, e.Value)
	if err != nil {
		return err
	}
	d.entries = append(d.entries, variable{e.Name, text, secret})
	if secret {
		d.secrets = append(d.secrets, text)
	}
	return nil
}

func (a *action) fillStdin(f *hcl.Frame, d *draft) error {
	if a.block.Stdin == nil {
		return nil
	}
	v, err := a.block.Stdin.Eval(f)
	if file, ok := v.(value.File); ok && err == nil {
		facts := file.Facts()
		d.given = facts.Summary()
		v, err = value.Raw(v)
	}
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		return nil
	case value.Bytes:
		d.stdin = v
	case string:
		d.stdin = []byte(v)
	case value.Deferred:
		d.stdin = v.AppendJSON(nil)
	default:
		text, err := value.Text(v)
		if err != nil {
			return err
		}
		d.stdin = []byte(text)
	}
	if d.stdin == nil {
		d.stdin = []byte{}
	}
	return nil
}
