package crowd

import (
	"testing"
	"time"
)

func TestTwoHundredListenersLoseNothingAndLeaveNothingBehind(t *testing.T) {
	dir := t.TempDir()
	binary, err := Build(t.Context(), dir, raceEnabled)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Load(t.Context(), Strain{Binary: binary, Folder: dir, Listeners: 200, Rate: 50, Race: raceEnabled, For: 5 * time.Second, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	r.Write(t.Output())
	for _, said := range r.Faults {
		t.Error(said)
	}
	if len(r.Took) < 200 || r.Made < 3 || r.Told < r.Due || r.Due < 200 {
		t.Errorf("%d calls, %d changes, %d notifications of %d due: that is no load", len(r.Took), r.Made, r.Told, r.Due)
	}
}
