package handover

import (
	"encoding/json"
	"reflect"
	"testing"

	"hatchel/runtime/edge/mcp"
)

// Processes of several versions serve the same sessions during a rolling restart: what one stores or sends, another one
// reads.
func TestStoredAndSentFormsStayTheSame(t *testing.T) {
	at := StreamName{Process: "p", Serial: 1, Stream: 2}
	for form, value := range map[string]any{
		`{"kind":"events","session":"01000000000000000000000000000000","id":"ask-1","result":{},"failure":{},"serial":1,` +
			`"stream":2,"seq":3,"reader":"r","events":[{"seq":4,"frame":{}}],"end":"complete"}`: &Message{
			Kind: KindEvents, Session: SessionName{1}, ID: json.RawMessage(`"ask-1"`), Result: json.RawMessage("{}"),
			Failure: json.RawMessage("{}"), Serial: 1, Stream: 2, Seq: 3, Reader: "r",
			Events: []Event{{Seq: 4, Frame: json.RawMessage("{}")}}, End: StreamComplete,
		},
		`["answer","cancel","deleted","attached","changed","resume","events","left","probe"]`: &[]MessageKind{
			KindAnswer, KindCancel, KindDeleted, KindAttached, KindChanged, KindResume, KindEvents, KindStop, KindProbe,
		},
		`["complete","lost"]`: &[]StreamEnd{StreamComplete, StreamLost},
		`{"in":{"process":"p","serial":1,"stream":2},"request":{},"state":"s","progress":0.5,"asked":[{"key":"k","id":"q",` +
			`"seq":3,"frame":{},"result":{},"error":{"Code":4,"Message":"m"}}],"released":true,` +
			`"continues":{"process":"p","serial":1,"stream":2},"taking":true}`: &Call{
			In: at, Request: json.RawMessage("{}"), State: "s", Progress: 0.5, Asked: []Question{{
				Key: "k", ID: "q", Seq: 3, Frame: json.RawMessage("{}"), Result: json.RawMessage("{}"),
				Error: &mcp.ClientError{Code: 4, Message: "m"},
			}}, Released: true, Continues: &at, Taking: true,
		},
		`{"capabilities":{},"info":{},"level":"info","resources":["note://a"]}`: &SessionRecord{
			Capabilities: json.RawMessage("{}"), Info: json.RawMessage("{}"), Level: "info", Resources: []string{"note://a"},
		},
	} {
		got, err := json.Marshal(value)
		if err != nil || string(got) != form {
			t.Errorf("%T is written as %s, %v\nwant %s", value, got, err, form)
		}
		read := reflect.New(reflect.TypeOf(value).Elem())
		if err := json.Unmarshal([]byte(form), read.Interface()); err != nil || !reflect.DeepEqual(read.Interface(), value) {
			t.Errorf("%s is read as %+v, %v", form, read.Elem(), err)
		}
	}
	if in := at.recordOf(SessionName{1}); in != "01000000000000000000000000000000.p.1.2" {
		t.Errorf("the record of a call is named %s", in)
	}
}
