package mask

import (
	"slices"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/eval"
)

// rowReader reads rows as the caller may see them.
type rowReader struct {
	adapters.RowReader
	masks   []hcl.AppliedMask
	columns []string
}

// Rows returns a reader that masks the rows of a backend before another one reads them.
func Rows(b *hcl.Backend, lifted []*eval.Mask, reader adapters.RowReader) adapters.RowReader {
	return &rowReader{RowReader: reader, masks: applying(b, lifted)}
}

// Begin implements adapters.RowReader.
func (r *rowReader) Begin(columns []string) error {
	r.columns = slices.Clone(columns)
	return r.RowReader.Begin(columns)
}

// Row implements adapters.RowReader.
func (r *rowReader) Row(cells []any) error {
	w := walker{masks: r.masks}
	masked := slices.Clone(cells)
	for i, v := range cells {
		if i >= len(r.columns) {
			break
		}
		w.path = append(w.path[:0], "rows", r.columns[i])
		var err error
		if masked[i], _, err = w.member(v); err != nil {
			return err
		}
	}
	return r.RowReader.Row(masked)
}
