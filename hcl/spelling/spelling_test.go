package spelling

import "testing"

func TestTheNearestNameIsTheOneThatWasMeant(t *testing.T) {
	names := []string{"customer_id", "customer", "amount", "from"}
	for name, want := range map[string]string{"custmer": "customer", "customerid": "customer_id",
		"CustomerID": "customer_id", "amuont": "amount", "form": "from", "wibble": "", "amo": "amount", "cust": "",
		"x": "", "": ""} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
