package adapters

import "hatchel/hcl/value"

// Rows is a list of rows, or one row, whose columns have an order. It does not change.
type Rows interface {
	value.LazyJSON
	// Columns returns the names of the columns, which are distinct.
	Columns() []string
	// WithCells returns the rows with other cells. Change gets each cell, row by row, as a value of the language. Its
	// error ends the change.
	WithCells(change func(column int, cell any) (any, error)) (value.LazyJSON, error)
}
