package toolsearch

import (
	"slices"
	"strings"
	"sync"
)

// synonymLines are words of business and technology that people use for the same thing, a group in a line. A
// description has one of them, and a question another. Verbs of two words are written as one: see queryTerms.
const synonymLines = `
2fa authenticator mfa otp
absence absent away
accept approve confirm release
access permission privilege right role
accident damage loss
accommodation hotel lodging
account acct
accounting bookkeeping books ledger
activate enable switchon turnon
add create new
addr address
adjuster handler
admin administrator
advertisement campaign promotion
agreement contract
alarm alert
alert notify page
allow grant permit
amount amt
answer reply respond response
apartment flat
app application program software
appeal dispute objection
applicant candidate
appointment consultation visit
appointment event meeting
area region zone
arrears debt due late outstanding overdue owe receivable unpaid
arrive attend checkin
article goods item merchandise product sku
attorney counsel lawyer legal
audit examination inspection
auth authentication authorization
automobile car vehicle
available free
aws azure cloud gcp
baby child daughter dependent kid son
backup restore
backup snapshot
balance remaining
balancer lb loadbalancer
ban blacklist block deny
basket cart
begin kickoff launch start trigger
beneficiary heir
bill invoice
birth born dob
blood lab laboratory
board dashboard
bonus increase raise
book reserve
boss manager superior supervisor
bp pressure
breach leak
breakdown failure outage
broken damaged defect defective faulty
bug defect issue
build ci pipeline
building office site
buy order purchase
buyer client consumer customer shopper
calculate compute
call mobile phone telephone
calloff cancel end shutdown stop terminate
carrier courier
case ticket
cash fund money payment
cert certificate https ssl tls
certification license
change edit modify update
charge fee rate
chargeback dispute
cheap price
check monitor probe watch
city town
class course lesson training
clinic hospital
clinician doctor nurse staff
close complete finish
colleague employee personnel staff worker
combine join merge
comment note record remark writedown
company firm organisation organization
compare diff difference
complaint grievance
complete fillin
compliance regulation
computer device laptop notebook pc
config configuration setting
configure create setup
consultant specialist specialty
container pod
cost expense price spending
country nation
coupon discount voucher
cover coverage insurance policy
cover replacement standin substitute
cpu processor
credential password secret
ct imaging mri radiology scan ultrasound xray
cut decrease lower reduce
cv resume
cve exploit vulnerability
database db
dayoff holiday leave pto timeoff vacation
deactivate disable suspend switchoff turnoff
deal opportunity
death deceased die
deck presentation slide
decline denial deny refuse reject
deductible excess
delay postpone putoff reschedule
delete erase purge remove
deliver dispatch send ship
department dept
department group team unit
dependency library package
dependent husband partner spouse wife
deploy release rollout
depot storage warehouse
detail info information
dev development
diet food meal
directory folder
disease ill illness sick
disk storage volume
dismiss fire terminate
dns domain hostname
doc document documentation
doctor physician
document file
double duplicate twice
download export
downtime idle standstill
drug medication medicine pharmaceutical pill tablet
dunning remind reminder
duration latency
duty oncall pager
earlier history past previous
earning income profit
electricity energy power
email mail message
emergency er
enrol register signup subscribe
env environment
equipment machine
erase wipe
error exception failure fault
estimate offer proposal quotation quote
exam test
excel spreadsheet
execute run
expire expiry lapse runout
failover promote
feedback rating review
figure kpi metric
fix maintenance mend repair
flight plane
forecast prediction
fraud fraudulent suspected suspicious
freight lorry truck
gdpr privacy
goal objective okr target
goback restore revert rollback undo
godown outage unavailable
grow increase raise
guarantee warranty
guest visitor
handin submit
handover transfer
happy satisfaction satisfied
help support
hire recruit
hire rent
holder insured member policyholder
host machine server vm
icu intensive
id identifier
idle orphaned unused
image photo picture
immunization inoculation jab vaccination vaccine
import load upload
incident outage
installment instalment
instance replica
inventory stock
job position vacancy
journey travel trip
k8s kubernetes
key token
lang language
latency slow
lead prospect
lease rent rental
limit quota threshold
link url
log output
login logon signin
lookup query search
lost stolen
mailing newsletter
measurement reading sensor
mem memory ram
membership plan subscription
message msg
migration schema
move transfer
mute silence
namespace ns
num number
objective sla slo
online remote telehealth video
operation procedure surgery theatre
org organization
overview recap summary
owner responsible
package parcel shipment
page site web website
paid pay payment settle
passport visa
pay payslip salary wage
payback refund reimburse repay
perf performance
phishing scam spam
plan schedule
post publish
postcode zip
postmortem retrospective
pr pull
prescribe prescription rx
prod production
qty quantity
query sql statement
reboot restart
remove revoke withdraw
renter tenant
replace takeover
replica secondary standby
repo repository
rerun retry
resize scale
return sendback
revenue sales turnover
road route
roster shift timetable
sev severity
shop store
sign signature
sms text
supplier vendor
tax vat
temp temperature
timezone tz
traffic visit visitor
update upgrade`

// synonyms returns, for the stem of each word of synonymLines, the others of its groups.
var synonyms = sync.OnceValue(func() map[string][]string {
	of := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(synonymLines)) {
		group := strings.Fields(line)
		for i := range group {
			group[i] = stem(group[i])
		}
		for _, term := range group {
			for _, other := range group {
				if other != term && !slices.Contains(of[term], other) {
					of[term] = append(of[term], other)
				}
			}
		}
	}
	return of
})

func hasSynonym(term string) bool { return len(synonyms()[term]) > 0 }
