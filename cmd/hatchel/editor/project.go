package editor

import (
	"io/fs"
	"sync"

	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// Project is what one load knows of a configuration directory. It is immutable and safe for concurrent use.
type Project struct {
	*Language
	Config *hcl.Config // may be used as far as it goes: the load may have found errors
	Diags  diag.Diagnostics
	Own    bool // it is a configuration of Hatchel, see [Language.IsOwn]
	Dir    string

	fsys  fs.FS
	opts  hcl.Options
	noted func(file string) bool
	once  sync.Once // of notes
	notes map[string]*notes
	files sync.Map // parsed *File, by name
}

// Load loads a configuration directory as hatchel validate does, without reading secrets. It takes notes about the
// files for which noted reports true; nil for none.
func (l *Language) Load(fsys fs.FS, opts hcl.Options, noted func(file string) bool) *Project {
	config, diags := hcl.Load(fsys, l.kinds, opts.ForEditor(func(file string) decode.Observer {
		if noted == nil || !noted(file) {
			return nil
		}
		return new(notes)
	}))
	diags = append(diags, testblock.Check(config, diags)...).Sort()
	return &Project{Language: l, Config: config, Diags: diags, Own: l.IsOwn(config.Blocks), Dir: opts.Dir,
		fsys: fsys, opts: opts, noted: noted}
}

// StayOwn makes the project one of Hatchel if the directory was one before and a syntax error hides what it is now.
func (p *Project) StayOwn(before *Project) {
	if before != nil && before.Own && p.Config.Partial && !isForeign(p.Config.Blocks) {
		p.Own = true
	}
}

// withAllNotes loads the configuration again, with notes of all files. The Cache of the project keeps none of these.
func (p *Project) withAllNotes() *Project {
	opts := p.opts
	opts.Cache = hcl.NewCache()
	return p.Load(p.fsys, opts, func(string) bool { return true })
}
