package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/printable"
)

// finish writes what was generated, and prints the reports.
func (r *mcpRun) finish() error {
	for _, count := range r.counts {
		if count.Exceeds(importer.MaxTools, importer.MaxTokens) {
			return r.refuse(count)
		}
	}
	for _, s := range r.all {
		if r.before != nil && s.err == nil {
			r.before.Keep(s.result.Files)
		}
	}
	for _, dry := range []bool{true, false} { // all of them load before one is written
		opt := r.importFlags.Options
		opt.DryRun = dry || r.DryRun
		for _, s := range r.all {
			if s.err == nil && s.result.Empty() {
				s.err = errors.New("no tool could be mapped")
			}
			if s.err != nil {
				continue
			}
			s.result.Flags = s.choice.remembered
			err := r.checkNew(s)
			if err == nil {
				s.report, err = importer.Write(r.dir, s.result, opt)
			}
			if err != nil {
				return failf("nothing of %s was written to %s: %s", s.Name, folderName(r.dir), reason(err))
			}
		}
	}
	if err := r.print(); err != nil {
		return err
	}
	conflicts, lost := 0, 0
	for _, s := range r.all {
		if s.err != nil {
			lost++
		} else {
			conflicts += s.report.Count(importer.Conflict)
		}
	}
	switch {
	case conflicts > 0:
		return failf("%s changed by you and by the source: merge the files with the suffix .new",
			console.Plural(conflicts, "block"))
	case lost > 0:
		return failf("not imported: %d of %s", lost, console.Plural(len(r.all), "server"))
	}
	return nil
}

// checkNew refuses to replace a file of definitions that no import has written.
func (r *mcpRun) checkNew(s *mcpServer) error {
	if r.Update || r.earlier(s.Name) != nil {
		return nil
	}
	for name := range s.result.Files {
		if _, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists already; --update replaces it", name)
		}
	}
	return nil
}

// refuse prints what each server would add.
func (r *mcpRun) refuse(count *importer.TooMany) error {
	if r.asJSON {
		if err := printJSON(r.cmd.OutOrStdout(), count); err != nil {
			return err
		}
		return failf("%s", count)
	}
	out := r.cmd.OutOrStdout()
	fmt.Fprint(out, count.Table())
	if r.client != nil {
		best := count.Best(importer.MaxTools, importer.MaxTokens)
		fmt.Fprintf(out, "\nOne server:  --server %s\n", best.Name)
	}
	fmt.Fprint(out, "Some tools:  --tool 'get_*,list_*'\n")
	return failf("%s", count)
}

// mcpReport is the report of several servers in JSON.
type mcpReport struct {
	Servers []*importer.Report `json:"servers"`
	LeftOut []importer.Loss    `json:"left_out"`
	Client  json.RawMessage    `json:"client,omitempty"` // a client's file with Hatchel in place of the servers
	Diff    json.RawMessage    `json:"diff,omitempty"`
}

// print prints the reports and, for an update, the differences for callers.
func (r *mcpRun) print() error {
	all := mcpReport{Servers: []*importer.Report{}, LeftOut: []importer.Loss{}}
	whole := &importer.Report{Contents: map[string][]byte{}}
	if r.client != nil {
		all.LeftOut = append(all.LeftOut, r.client.Losses...)
		all.Client = r.client.Client(r.abs)
	}
	for _, s := range r.all {
		if s.err != nil {
			l := importer.Loss{Name: s.Name, Kind: "server left out", Origin: s.Origin,
				Detail: importer.WithoutCredentials(reason(s.err))}
			all.LeftOut = append(all.LeftOut, l)
			continue
		}
		all.Servers = append(all.Servers, s.report)
		maps.Copy(whole.Contents, s.report.Contents)
	}
	if r.asJSON {
		if r.before != nil && len(all.Servers) > 0 {
			diff, err := r.compare(r.cmd, r.before, whole)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			_ = diff.Write(&text, "json") // into memory
			all.Diff = text.Bytes()
		}
		return printJSON(r.cmd.OutOrStdout(), all)
	}
	out := r.cmd.OutOrStdout()
	for _, report := range all.Servers {
		report.Print(out, r.dir, r.DryRun)
	}
	for _, l := range all.LeftOut {
		fmt.Fprintln(out, printable.Reveal(fmt.Sprintf("%s: %s: %s", l.Name, l.Kind, l.Detail), ""))
	}
	if r.client != nil && len(all.Servers) > 0 {
		const text = "\nYour client's file was not changed. With these servers behind Hatchel it is:\n%s"
		fmt.Fprintf(out, text, all.Client)
	}
	if r.before == nil || len(all.Servers) == 0 {
		return nil
	}
	diff, err := r.compare(r.cmd, r.before, whole)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nFor callers (hatchel diff):")
	return diff.Write(out, "text")
}
