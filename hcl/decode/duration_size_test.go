package decode

import "testing"

func TestASizeReadsInTheUnitThatIsShortest(t *testing.T) {
	for n, want := range map[Size]string{
		0: "0 bytes", 1023: "1023 bytes", 1 << 10: "1 KiB", 10_000: "10000 bytes", 10_241: "10.0 KiB", 1<<20 - 1: "1.0 MiB", 1 << 20: "1 MiB", 1<<20 + 1: "1.0 MiB", 3 << 19: "1.5 MiB", 64 << 20: "64 MiB",
	} {
		if got := n.String(); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
