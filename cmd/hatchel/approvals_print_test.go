package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hatchel/runtime/stage/approval"
)

func TestATruncatedApprovalIsMarked(t *testing.T) {
	whole := &approvalRow{ID: "06GZWYPB0HJEAJNZ", Status: approval.Pending, Request: approval.Request{Tool: "t", Message: "Do it.", Deadline: time.Now().Add(time.Hour)}}
	part := *whole
	part.Partial = true
	for a, want := range map[*approvalRow]bool{whole: false, &part: true} {
		var shown, list bytes.Buffer
		a.Print(&shown, time.Now())
		if err := printApprovals(&list, []*approvalRow{a}, false, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := strings.HasPrefix(shown.String(), "WARNING "); got != want {
			t.Errorf("show:\n%s", &shown)
		}
		if got := strings.Contains(list.String(), "(incomplete) Do it."); got != want {
			t.Errorf("list:\n%s", &list)
		}
	}
}
