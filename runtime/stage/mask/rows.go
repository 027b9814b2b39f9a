package mask

import (
	"slices"

	"hatchel/adapters"
	"hatchel/hcl"
)

// rowReader reads rows as the caller may see them.
type rowReader struct {
	adapters.RowReader
	columns *columns
	walker  walker
}

// Rows returns a reader that masks the rows of a backend before another one reads them.
func Rows(b *hcl.Backend, frame *hcl.Frame, reader adapters.RowReader) adapters.RowReader {
	return &rowReader{RowReader: reader, walker: walker{masks: applying(b, frame.Lifted), path: []string{"rows"},
		observe: frame.Masked}}
}

// Begin implements adapters.RowReader.
func (r *rowReader) Begin(names []string) error {
	r.columns = newColumns(&r.walker, slices.Clone(names))
	return r.RowReader.Begin(names)
}

// Row implements adapters.RowReader.
func (r *rowReader) Row(cells []any) error {
	masked := slices.Clone(cells)
	for i, cell := range cells {
		var err error
		if masked[i], err = r.columns.mask(i, cell); err != nil {
			return err
		}
	}
	return r.RowReader.Row(masked)
}

// columns masks the cells of rows, which are where the walker is.
type columns struct {
	walker  *walker
	names   []string
	masks   []*hcl.Mask // of each column; nil for none
	hashers []*hasher   // of each column that is hashed

	isMasked []bool // of each column
	changed  bool   // a cell was masked
}

func newColumns(w *walker, names []string) *columns {
	c := &columns{walker: w, names: names, masks: make([]*hcl.Mask, len(names)),
		hashers: make([]*hasher, len(names)), isMasked: make([]bool, len(names))}
	for i, name := range names {
		w.path = append(w.path, name)
		if c.masks[i] = w.strictest(); c.masks[i] != nil && hashes(c.masks[i]) {
			c.hashers[i] = newHasher(c.masks[i])
		}
		c.isMasked[i] = c.masks[i] != nil
		w.path = w.path[:len(w.path)-1]
	}
	return c
}

// mask returns a cell as the caller may see it.
func (c *columns) mask(i int, cell any) (any, error) {
	if m := c.masks[i]; m != nil {
		c.changed = c.changed || cell != nil
		if text, ok := cell.(string); ok && c.hashers[i] != nil {
			return c.walker.observed(c.hashers[i].text(text)), nil
		}
		if cell == nil {
			return nil, nil
		}
		return c.walker.observed(replace(m, cell)), nil
	}
	if text, ok := cell.(string); ok && !mayHoldMember(text) || !ok && adapters.HasNoParts(cell) {
		return cell, nil
	}
	c.walker.path = append(c.walker.path, c.names[i])
	masked, changed, err := c.walker.value(cell)
	c.walker.path = c.walker.path[:len(c.walker.path)-1]
	c.changed = c.changed || changed
	return masked, err
}
