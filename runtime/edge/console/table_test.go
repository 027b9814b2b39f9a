package console_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hatchel/runtime/edge/console"
)

func TestJSONBecomesATable(t *testing.T) {
	row := func(cells ...string) console.TableRow { return console.TableRow{Cells: cells} }
	for _, c := range []struct {
		text string
		want *console.Table
	}{
		{`[{"id":1,"name":"a"},{"name":"b","more":[1, 2]}]`, &console.Table{
			Columns: []console.TableColumn{{Name: "id", IsNumber: true}, {Name: "name"}, {Name: "more"}}, Rows: []console.TableRow{row("1", "a", ""), row("", "b", "[1, 2]")}}},
		{`{"z":12345678901234567890,"a":null,"t":"x\n\"y\""}`, &console.Table{Rows: []console.TableRow{
			{Name: "z", Cells: []string{"12345678901234567890"}}, {Name: "a", Cells: []string{"null"}},
			{Name: "t", Cells: []string{"x\n\"y\""}}}}},
		{`{"rows":[{"a":1}]}`, &console.Table{Columns: []console.TableColumn{{Name: "a", IsNumber: true}}, Rows: []console.TableRow{row("1")}}},
		{`[{"a":-1.5e3},{"a":null}]`, &console.Table{
			Columns: []console.TableColumn{{Name: "a", IsNumber: true}}, Rows: []console.TableRow{row("-1.5e3"), row("null")}}},
		{`[{"a":1},{"a":"2"}]`, &console.Table{Columns: []console.TableColumn{{Name: "a"}}, Rows: []console.TableRow{row("1"), row("2")}}},
		{`{"rows":[1]}`, &console.Table{Rows: []console.TableRow{{Name: "rows", Cells: []string{"[1]"}}}}},
		{`[]`, nil}, {`{}`, nil}, {`[1,2]`, nil}, {`[{"a":1},2]`, nil}, {`"text"`, nil}, {`7`, nil}, {``, nil}, {`[{`, nil},
		{`[{` + strings.TrimSuffix(strings.Repeat(`"x%":1,`, 21), ",") + `}]`, nil},
	} {
		for i := range 30 {
			c.text = strings.Replace(c.text, "%", fmt.Sprint(i), 1)
		}
		if got := console.NewTable([]byte(c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s is %+v, not %+v", c.text, got, c.want)
		}
	}
	many := console.NewTable([]byte("[" + strings.TrimSuffix(strings.Repeat(`{"a":1},`, 230), ",") + "]"))
	if len(many.Rows) != 200 || many.More != 30 {
		t.Errorf("%d rows, and %d more", len(many.Rows), many.More)
	}
}
