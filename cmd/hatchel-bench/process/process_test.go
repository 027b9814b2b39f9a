package process

import (
	"os"
	"testing"
	"time"
)

func TestCPUTimeAdvancesWithWork(t *testing.T) {
	self := os.Getpid()
	before, err := CPUTime(self)
	if err != nil {
		t.Fatal(err)
	}
	after := before
	for start := time.Now(); after <= before && err == nil && time.Since(start) < time.Minute; {
		after, err = CPUTime(self)
	}
	if err != nil || after <= before {
		t.Errorf("%v after %v: %v", after, before, err)
	}
	if usage, err := ReadUsage(self); err != nil || usage.Memory < 1<<20 || usage.Files < 3 || usage.Threads < 1 {
		t.Errorf("usage %v: %v", usage, err)
	}
}
