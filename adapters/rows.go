package adapters

import "hatchel/hcl/value"

// Rows is a list of rows, or one row, whose columns have an order. It does not change.
type Rows interface {
	value.LazyJSON
	// Columns returns the names of the columns, which are distinct.
	Columns() []string
	// WithCells returns the rows with other cells. Change gets, row by row, the cells of the columns that are set in
	// all, and of the others the texts and what has parts, as values of the language. Its error ends the change.
	WithCells(all []bool, change func(column int, cell any) (any, error)) (value.LazyJSON, error)
}

// HasNoParts reports whether a cell is null, a bool or a number.
func HasNoParts(cell any) bool {
	switch cell.(type) {
	case nil, bool, int, int64, float64:
		return true
	}
	return false
}
