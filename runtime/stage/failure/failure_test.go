package failure

import (
	"reflect"
	"testing"

	"hatchel/adapters"
)

func TestExpressionsReadTheNamesOfAViolatedConstraint(t *testing.T) {
	for _, c := range []struct {
		constraint *adapters.Constraint
		want       map[string]any
	}{
		{nil, map[string]any{"message": "m"}},
		{&adapters.Constraint{}, map[string]any{"message": "m"}},
		{&adapters.Constraint{Name: "c", Table: "t", Columns: []string{"a", "b"}},
			map[string]any{"message": "m", "constraint": "c", "table": "t", "columns": []any{"a", "b"}}},
	} {
		if got := Of(&adapters.Fault{Message: "m", Constraint: c.constraint}).ErrorRoot(""); !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}
