package toolsearch_test

import (
	_ "embed"
	"strings"
	"testing"

	"hatchel/internal/toolsearch"
)

// entities are what the generated tools are about, with their group and the states that they have. They share words with
// the written tools, and answer none of the questions.
const entities = `
customer segment|Marketing|draft active retired
order template|Sales|draft published
invoice layout|Finance|draft approved
delivery slot|Logistics|free taken closed
loyalty card|Retail|active blocked expired
warranty claim|After-sales|received assessed settled
lab sample|Laboratory|received tested discarded
rental agreement|Property|running terminated
meter reading|Utilities|estimated confirmed
shelf label|Retail|printed outdated
price list|Sales|draft valid expired
product bundle|Catalogue|active withdrawn
supplier certificate|Purchasing|valid expired
customs tariff|Logistics|current superseded
pallet|Warehouse|stored picked shipped
packing station|Warehouse|free busy
forklift|Warehouse|available charging
dock door|Warehouse|open blocked
cycle count plan|Warehouse|planned done
batch recipe|Production|draft released
work centre|Production|running stopped
bill of material|Production|draft released obsolete
machine alarm|Production|raised acknowledged cleared
calibration certificate|Quality|valid due
nonconformity|Quality|open contained closed
audit finding|Quality|open verified
supplier scorecard|Purchasing|draft shared
framework agreement|Purchasing|running ended
charging station|Fleet|free occupied faulty
driver card|Fleet|valid expired
tyre set|Fleet|mounted stored
toll transaction|Fleet|posted disputed
telematics device|Fleet|online offline
landing page|Marketing|draft live
banner advertisement|Marketing|running paused
referral programme|Marketing|active closed
event registration|Marketing|registered attended
press release|Communications|draft published
newsletter block|Marketing|draft ready
chat transcript|Service|stored redacted
call recording|Service|stored deleted
canned response|Service|active retired
service contract|Service|running expired
field technician|Service|available travelling
spare part|Service|stocked obsolete
job posting|Recruiting|draft online filled
interview slot|Recruiting|free booked
talent pool|Recruiting|open closed
training course|Learning|planned running finished
course certificate|Learning|issued revoked
skill profile|Learning|draft confirmed
shift template|Workforce|active retired
time clock|Workforce|online offline
canteen menu|Facilities|draft published
parking space|Facilities|free reserved
access badge|Facilities|active lost
cleaning round|Facilities|planned done
floor plan|Facilities|current outdated
board resolution|Legal|drafted passed
power of attorney|Legal|granted revoked
trademark|Legal|filed registered
insurance policy|Risk|running lapsed
risk assessment|Risk|draft accepted
data processing record|Privacy|draft current
consent form|Privacy|draft published
firewall rule|Network|active disabled
wireless access point|Network|online offline
test environment|Engineering|free claimed
design token|Engineering|draft released
translation unit|Engineering|new reviewed
`

// operations are what the generated tools do: a verb of the name, a title and a description of a thing and its group.
var operations = []struct{ verb, title, description, inputs string }{
	{"list", "List of $s", "Lists $s of $g, newest first, with their status.", "status limit"},
	{"get", "$t", "Reads one $n of $g by its identifier, with all its fields.", "id"},
	{"create", "New $n", "Creates a $n in $g and returns its identifier.", "label owner"},
	{"update", "Change a $n", "Changes fields of a $n of $g; fields that are left out stay as they are.", "id label status"},
	{"delete", "Delete a $n", "Deletes a $n of $g. This cannot be undone.", "id reason"},
	{"search", "Search $s", "Searches $s of $g by words in their label and notes.", "text limit"},
	{"export", "Export $s", "Writes $s of $g into a file and returns a link to it.", "status format"},
	{"archive", "Archive a $n", "Moves a $n of $g to the archive, where it is read-only.", "id"},
	{"count", "Number of $s", "Counts $s of $g by status, for a period.", "from until"},
	{"assign", "Assign a $n", "Assigns a $n of $g to another person or team.", "id owner"},
}

var inputDescriptions = map[string]string{
	"limit": "The largest number of results.", "id": "The identifier.", "label": "A label of up to 80 characters.",
	"owner": "The person or team that is responsible.", "reason": "A reason for the record.", "text": "Words to look for.",
	"status": "Only this status.", "from": "The first day.", "until": "The last day.", "format": "The format of the file.",
}

// generated returns 700 tools.
func generated() (tools []toolsearch.Tool) {
	for _, line := range strings.Split(strings.TrimSpace(entities), "\n") {
		part := strings.Split(line, "|")
		thing, group, states := part[0], part[1], strings.Fields(part[2])
		plural := thing + "s"
		if stem, ok := strings.CutSuffix(thing, "y"); ok {
			plural = stem + "ies"
		}
		for _, op := range operations {
			say := strings.NewReplacer("$n", thing, "$s", plural, "$g", group, "$t", strings.ToUpper(thing[:1])+thing[1:])
			name := op.verb + "_" + thing
			if strings.Contains(op.title, "$s") {
				name = op.verb + "_" + plural
			}
			tool := toolsearch.Tool{
				Name: strings.ReplaceAll(name, " ", "_"), Title: say.Replace(op.title), Description: say.Replace(op.description),
			}
			for _, name := range strings.Fields(op.inputs) {
				input := toolsearch.Input{Name: name, Description: inputDescriptions[name]}
				switch name {
				case "status":
					input.Values = states
				case "format":
					input.Values = []string{"csv", "xlsx", "pdf"}
				}
				tool.Inputs = append(tool.Inputs, input)
			}
			tools = append(tools, tool)
		}
	}
	return tools
}

var (
	//go:embed testdata/tools.txt
	toolsFile string
	//go:embed testdata/operations_tools.txt
	operationsTools string
	//go:embed testdata/hospital_tools.txt
	hospitalTools string
	//go:embed testdata/bank_tools.txt
	bankTools string
	//go:embed testdata/parcel_tools.txt
	parcelTools string
	//go:embed testdata/university_tools.txt
	universityTools string
)

// lines returns the lines of a file of testdata, cut at their bars.
func lines(file string) (all [][]string) {
	for line := range strings.Lines(file) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		all = append(all, parts)
	}
	return all
}

// written returns the tools of a file of testdata.
func written(file string) (tools []toolsearch.Tool) {
	for _, part := range lines(file) {
		tool := toolsearch.Tool{Name: part[0], Title: part[1], Description: part[2]}
		for text := range strings.SplitSeq(part[3], ";") {
			var input toolsearch.Input
			text, input.Description, _ = strings.Cut(strings.TrimSpace(text), ": ")
			name, values, hasValues := strings.Cut(text, "=")
			if input.Name = name; hasValues {
				input.Values = strings.Split(values, "/")
			}
			tool.Inputs = append(tool.Inputs, input)
		}
		tools = append(tools, tool)
	}
	return tools
}

// catalogue returns 1,000 tools: written ones, and generated ones after them.
func catalogue(t testing.TB) []toolsearch.Tool {
	t.Helper()
	tools, isNamed := append(written(toolsFile), generated()...), map[string]bool{}
	for _, tool := range tools {
		isNamed[tool.Name] = true
	}
	if len(tools) != 1000 || len(isNamed) != 1000 {
		t.Fatalf("the catalogue has %d tools with %d names", len(tools), len(isNamed))
	}
	return tools
}
