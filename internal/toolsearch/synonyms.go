package toolsearch

import (
	"slices"
	"strings"
	"sync"
)

// synonymLines are words of business and technology that people use for the same thing, a group in a line. A
// description has one of them, and a question another.
const synonymLines = `
2fa authenticator mfa otp
absence absent away
accept approve confirm release
access permission privilege right role
accommodation hotel lodging
accounting bookkeeping books ledger
add create new
admin administrator
advertisement campaign promotion
agreement contract
alarm alert
allow grant permit
answer reply respond response
apartment flat
app application program software
applicant candidate
appointment consultation
appointment event meeting
area region zone
arrears debt due late outstanding overdue owe receivable unpaid
article goods item merchandise product sku
attorney counsel lawyer legal
audit examination inspection
automobile car vehicle
available free
backup restore
basket cart
begin launch start
bill invoice
bonus increase raise
book reserve
boss manager superior supervisor
breach leak
broken damaged defect defective faulty
bug defect issue
build ci pipeline
building office site
buy order purchase
buyer client consumer customer shopper
calculate compute
call mobile phone telephone
cancel end stop terminate
carrier courier
case ticket
cash fund money payment
certificate ssl tls
change edit modify update
charge fee rate
chargeback dispute
cheap price
city town
class course lesson training
clinic hospital
close complete finish
colleague employee personnel staff worker
combine join merge
comment note remark
company firm organisation organization
compare diff difference
complaint grievance
compliance regulation
computer device laptop notebook pc
container pod
cost expense price spending
country nation
coupon discount voucher
credential password secret
cut decrease lower reduce
cv resume
cve exploit vulnerability
deal opportunity
deck presentation slide
decline deny refuse reject
delay postpone reschedule
delete erase purge remove
deliver dispatch send ship
department group team unit
dependency library package
deploy release rollout
depot storage warehouse
directory folder
disease ill illness sick
dismiss fire terminate
dns domain hostname
doctor physician
document file
double duplicate twice
download export
downtime idle standstill
drug medication medicine
dunning remind reminder
duty oncall pager
earlier history past previous
earning income profit
electricity energy power
email mail message
equipment machine
erase wipe
error exception failure fault
estimate offer proposal quotation quote
exam test
excel spreadsheet
expire expiry lapse
feedback rating review
figure kpi metric
fix maintenance mend repair
flight plane
forecast prediction
freight lorry truck
gdpr privacy
goal objective okr target
grow increase raise
guarantee warranty
guest visitor
happy satisfaction satisfied
help support
hire recruit
hire rent
holiday leave vacation
host machine server vm
image photo picture
import load upload
incident outage
instance replica
inventory stock
job position vacancy
journey travel trip
key token
latency slow
lead prospect
lease rent rental
login logon signin
lookup query search
lost stolen
mailing newsletter
measurement reading sensor
membership plan subscription
move transfer
mute silence
overview recap summary
owner responsible
package parcel shipment
page site web website
paid pay payment settle
passport visa
pay payslip salary wage
phishing scam spam
post publish
postcode zip
pr pull
reboot restart
refund reimburse repay
remove revoke withdraw
renter tenant
repo repository
revenue sales turnover
revert rollback undo
road route
roster shift timetable
shop store
sign signature
supplier vendor
tax vat
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
