connection "mcp" "h_schema" {
  url         = "http://127.0.0.1:18471/h_schema/mcp"
  definitions = "h_schema.tools.json"
}

# root_ref of h_schema
tool "root_ref" {
  description = "Does it."
  mcp "h_schema" {
    call = "root_ref"
  }
}

# self_ref of h_schema
tool "self_ref" {
  description = "Does it."
  input "a" { type = optional(any) }
  mcp "h_schema" {
    call = "self_ref"
  }
}

# rec_ref of h_schema
tool "rec_ref" {
  description = "Does it."
  input "n" {
    type = optional(object({
      next = optional(any("An object with next, v."))
      v    = string
    }))
  }
  mcp "h_schema" {
    call = "rec_ref"
  }
}

# rec_req of h_schema
tool "rec_req" {
  description = "Does it."
  input "n" {
    type = object({
      next = any("An object with next.")
    })
  }
  mcp "h_schema" {
    call = "rec_req"
  }
}

# prop_true of h_schema
tool "prop_true" {
  description = "Does it."
  input "a" { type = any }
  mcp "h_schema" {
    call = "prop_true"
  }
}

# req_undeclared_closed of h_schema
tool "req_undeclared_closed" {
  description = "Does it."
  mcp "h_schema" {
    call = "req_undeclared_closed"
  }
}

# deep50 of h_schema
tool "deep50" {
  description = "Does it."
  input "n" {
    type = object({
      n = object({
        n = object({
          n = object({
            n = object({
              n = object({
                n = any("An object with n.")
              })
            })
          })
        })
      })
    })
  }
  mcp "h_schema" {
    call = "deep50"
  }
}

# typearr of h_schema
tool "typearr" {
  description = "Does it."
  input "a" { type = nullable(one_of(string, integer)) }
  mcp "h_schema" {
    call = "typearr"
  }
}

# notobj of h_schema
tool "notobj" {
  description = "Does it."
  mcp "h_schema" {
    call = "notobj"
  }
}

# oneof of h_schema
tool "oneof" {
  description = "Does it."
  input "a" { type = optional(string) }
  input "b" { type = optional(integer) }
  mcp "h_schema" {
    call = "oneof"
  }
}

# anyofroot of h_schema
tool "anyofroot" {
  description = "Does it."
  mcp "h_schema" {
    call = "anyofroot"
  }
}

# allofroot of h_schema
tool "allofroot" {
  description = "Does it."
  input "a" { type = string }
  input "b" { type = optional(integer) }
  mcp "h_schema" {
    call = "allofroot"
  }
}

# ifthen of h_schema
tool "ifthen" {
  description = "Does it."
  input "a" { type = optional(string) }
  mcp "h_schema" {
    call = "ifthen"
  }
}

# enum_empty of h_schema
tool "enum_empty" {
  description = "Does it."
  input "a" { type = optional(any) }
  mcp "h_schema" {
    call = "enum_empty"
  }
}

# enum_mixed of h_schema
tool "enum_mixed" {
  description = "Does it."
  input "a" { type = optional(any("One of \"x\", 1, an object or a list.")) }
  mcp "h_schema" {
    call = "enum_mixed"
  }
}

# constobj of h_schema
tool "constobj" {
  description = "Does it."
  input "a" { type = any("One of an object or a list.") }
  mcp "h_schema" {
    call = "constobj"
  }
}

# bignum of h_schema
tool "bignum" {
  description = "Does it."
  input "a" { type = optional(integer({ min = -1e+30, max = 1e+30 })) }
  mcp "h_schema" {
    call = "bignum"
  }
}

# multof of h_schema
tool "multof" {
  description = "Does it."
  input "a" { type = optional(number({ above = 0, multiple_of = 0.01 })) }
  mcp "h_schema" {
    call = "multof"
  }
}

# fmt of h_schema
tool "fmt" {
  description = "Does it."
  input "a" { type = optional(string({ format = "uri" })) }
  input "b" { type = optional(string({ format = "date-time" })) }
  input "c" { type = optional(string) }
  input "d" { type = optional(string("In base64.", { pattern = "^[-A-Za-z0-9+/_]*={0,2}$" })) }
  input "e" { type = optional(string({ format = "email" })) }
  mcp "h_schema" {
    call = "fmt"
  }
}

# tuple of h_schema
tool "tuple" {
  description = "Does it."
  input "a" { type = optional(list(any)) }
  mcp "h_schema" {
    call = "tuple"
  }
}

# tuple7 of h_schema
tool "tuple7" {
  description = "Does it."
  input "a" { type = optional(list(any)) }
  mcp "h_schema" {
    call = "tuple7"
  }
}

# wide of h_schema
tool "wide" {
  description = "Does it."
  input "p0" { type = optional(string) }
  input "p1" { type = optional(string) }
  input "p10" { type = optional(string) }
  input "p100" { type = optional(string) }
  input "p101" { type = optional(string) }
  input "p102" { type = optional(string) }
  input "p103" { type = optional(string) }
  input "p104" { type = optional(string) }
  input "p105" { type = optional(string) }
  input "p106" { type = optional(string) }
  input "p107" { type = optional(string) }
  input "p108" { type = optional(string) }
  input "p109" { type = optional(string) }
  input "p11" { type = optional(string) }
  input "p110" { type = optional(string) }
  input "p111" { type = optional(string) }
  input "p112" { type = optional(string) }
  input "p113" { type = optional(string) }
  input "p114" { type = optional(string) }
  input "p115" { type = optional(string) }
  input "p116" { type = optional(string) }
  input "p117" { type = optional(string) }
  input "p118" { type = optional(string) }
  input "p119" { type = optional(string) }
  input "p12" { type = optional(string) }
  input "p120" { type = optional(string) }
  input "p121" { type = optional(string) }
  input "p122" { type = optional(string) }
  input "p123" { type = optional(string) }
  input "p124" { type = optional(string) }
  input "p125" { type = optional(string) }
  input "p126" { type = optional(string) }
  input "p127" { type = optional(string) }
  input "p128" { type = optional(string) }
  input "p129" { type = optional(string) }
  input "p13" { type = optional(string) }
  input "p130" { type = optional(string) }
  input "p131" { type = optional(string) }
  input "p132" { type = optional(string) }
  input "p133" { type = optional(string) }
  input "p134" { type = optional(string) }
  input "p135" { type = optional(string) }
  input "p136" { type = optional(string) }
  input "p137" { type = optional(string) }
  input "p138" { type = optional(string) }
  input "p139" { type = optional(string) }
  input "p14" { type = optional(string) }
  input "p140" { type = optional(string) }
  input "p141" { type = optional(string) }
  input "p142" { type = optional(string) }
  input "p143" { type = optional(string) }
  input "p144" { type = optional(string) }
  input "p145" { type = optional(string) }
  input "p146" { type = optional(string) }
  input "p147" { type = optional(string) }
  input "p148" { type = optional(string) }
  input "p149" { type = optional(string) }
  input "p15" { type = optional(string) }
  input "p150" { type = optional(string) }
  input "p151" { type = optional(string) }
  input "p152" { type = optional(string) }
  input "p153" { type = optional(string) }
  input "p154" { type = optional(string) }
  input "p155" { type = optional(string) }
  input "p156" { type = optional(string) }
  input "p157" { type = optional(string) }
  input "p158" { type = optional(string) }
  input "p159" { type = optional(string) }
  input "p16" { type = optional(string) }
  input "p160" { type = optional(string) }
  input "p161" { type = optional(string) }
  input "p162" { type = optional(string) }
  input "p163" { type = optional(string) }
  input "p164" { type = optional(string) }
  input "p165" { type = optional(string) }
  input "p166" { type = optional(string) }
  input "p167" { type = optional(string) }
  input "p168" { type = optional(string) }
  input "p169" { type = optional(string) }
  input "p17" { type = optional(string) }
  input "p170" { type = optional(string) }
  input "p171" { type = optional(string) }
  input "p172" { type = optional(string) }
  input "p173" { type = optional(string) }
  input "p174" { type = optional(string) }
  input "p175" { type = optional(string) }
  input "p176" { type = optional(string) }
  input "p177" { type = optional(string) }
  input "p178" { type = optional(string) }
  input "p179" { type = optional(string) }
  input "p18" { type = optional(string) }
  input "p180" { type = optional(string) }
  input "p181" { type = optional(string) }
  input "p182" { type = optional(string) }
  input "p183" { type = optional(string) }
  input "p184" { type = optional(string) }
  input "p185" { type = optional(string) }
  input "p186" { type = optional(string) }
  input "p187" { type = optional(string) }
  input "p188" { type = optional(string) }
  input "p189" { type = optional(string) }
  input "p19" { type = optional(string) }
  input "p190" { type = optional(string) }
  input "p191" { type = optional(string) }
  input "p192" { type = optional(string) }
  input "p193" { type = optional(string) }
  input "p194" { type = optional(string) }
  input "p195" { type = optional(string) }
  input "p196" { type = optional(string) }
  input "p197" { type = optional(string) }
  input "p198" { type = optional(string) }
  input "p199" { type = optional(string) }
  input "p2" { type = optional(string) }
  input "p20" { type = optional(string) }
  input "p200" { type = optional(string) }
  input "p201" { type = optional(string) }
  input "p202" { type = optional(string) }
  input "p203" { type = optional(string) }
  input "p204" { type = optional(string) }
  input "p205" { type = optional(string) }
  input "p206" { type = optional(string) }
  input "p207" { type = optional(string) }
  input "p208" { type = optional(string) }
  input "p209" { type = optional(string) }
  input "p21" { type = optional(string) }
  input "p210" { type = optional(string) }
  input "p211" { type = optional(string) }
  input "p212" { type = optional(string) }
  input "p213" { type = optional(string) }
  input "p214" { type = optional(string) }
  input "p215" { type = optional(string) }
  input "p216" { type = optional(string) }
  input "p217" { type = optional(string) }
  input "p218" { type = optional(string) }
  input "p219" { type = optional(string) }
  input "p22" { type = optional(string) }
  input "p220" { type = optional(string) }
  input "p221" { type = optional(string) }
  input "p222" { type = optional(string) }
  input "p223" { type = optional(string) }
  input "p224" { type = optional(string) }
  input "p225" { type = optional(string) }
  input "p226" { type = optional(string) }
  input "p227" { type = optional(string) }
  input "p228" { type = optional(string) }
  input "p229" { type = optional(string) }
  input "p23" { type = optional(string) }
  input "p230" { type = optional(string) }
  input "p231" { type = optional(string) }
  input "p232" { type = optional(string) }
  input "p233" { type = optional(string) }
  input "p234" { type = optional(string) }
  input "p235" { type = optional(string) }
  input "p236" { type = optional(string) }
  input "p237" { type = optional(string) }
  input "p238" { type = optional(string) }
  input "p239" { type = optional(string) }
  input "p24" { type = optional(string) }
  input "p240" { type = optional(string) }
  input "p241" { type = optional(string) }
  input "p242" { type = optional(string) }
  input "p243" { type = optional(string) }
  input "p244" { type = optional(string) }
  input "p245" { type = optional(string) }
  input "p246" { type = optional(string) }
  input "p247" { type = optional(string) }
  input "p248" { type = optional(string) }
  input "p249" { type = optional(string) }
  input "p25" { type = optional(string) }
  input "p250" { type = optional(string) }
  input "p251" { type = optional(string) }
  input "p252" { type = optional(string) }
  input "p253" { type = optional(string) }
  input "p254" { type = optional(string) }
  input "p255" { type = optional(string) }
  input "p256" { type = optional(string) }
  input "p257" { type = optional(string) }
  input "p258" { type = optional(string) }
  input "p259" { type = optional(string) }
  input "p26" { type = optional(string) }
  input "p260" { type = optional(string) }
  input "p261" { type = optional(string) }
  input "p262" { type = optional(string) }
  input "p263" { type = optional(string) }
  input "p264" { type = optional(string) }
  input "p265" { type = optional(string) }
  input "p266" { type = optional(string) }
  input "p267" { type = optional(string) }
  input "p268" { type = optional(string) }
  input "p269" { type = optional(string) }
  input "p27" { type = optional(string) }
  input "p270" { type = optional(string) }
  input "p271" { type = optional(string) }
  input "p272" { type = optional(string) }
  input "p273" { type = optional(string) }
  input "p274" { type = optional(string) }
  input "p275" { type = optional(string) }
  input "p276" { type = optional(string) }
  input "p277" { type = optional(string) }
  input "p278" { type = optional(string) }
  input "p279" { type = optional(string) }
  input "p28" { type = optional(string) }
  input "p280" { type = optional(string) }
  input "p281" { type = optional(string) }
  input "p282" { type = optional(string) }
  input "p283" { type = optional(string) }
  input "p284" { type = optional(string) }
  input "p285" { type = optional(string) }
  input "p286" { type = optional(string) }
  input "p287" { type = optional(string) }
  input "p288" { type = optional(string) }
  input "p289" { type = optional(string) }
  input "p29" { type = optional(string) }
  input "p290" { type = optional(string) }
  input "p291" { type = optional(string) }
  input "p292" { type = optional(string) }
  input "p293" { type = optional(string) }
  input "p294" { type = optional(string) }
  input "p295" { type = optional(string) }
  input "p296" { type = optional(string) }
  input "p297" { type = optional(string) }
  input "p298" { type = optional(string) }
  input "p299" { type = optional(string) }
  input "p3" { type = optional(string) }
  input "p30" { type = optional(string) }
  input "p300" { type = optional(string) }
  input "p301" { type = optional(string) }
  input "p302" { type = optional(string) }
  input "p303" { type = optional(string) }
  input "p304" { type = optional(string) }
  input "p305" { type = optional(string) }
  input "p306" { type = optional(string) }
  input "p307" { type = optional(string) }
  input "p308" { type = optional(string) }
  input "p309" { type = optional(string) }
  input "p31" { type = optional(string) }
  input "p310" { type = optional(string) }
  input "p311" { type = optional(string) }
  input "p312" { type = optional(string) }
  input "p313" { type = optional(string) }
  input "p314" { type = optional(string) }
  input "p315" { type = optional(string) }
  input "p316" { type = optional(string) }
  input "p317" { type = optional(string) }
  input "p318" { type = optional(string) }
  input "p319" { type = optional(string) }
  input "p32" { type = optional(string) }
  input "p320" { type = optional(string) }
  input "p321" { type = optional(string) }
  input "p322" { type = optional(string) }
  input "p323" { type = optional(string) }
  input "p324" { type = optional(string) }
  input "p325" { type = optional(string) }
  input "p326" { type = optional(string) }
  input "p327" { type = optional(string) }
  input "p328" { type = optional(string) }
  input "p329" { type = optional(string) }
  input "p33" { type = optional(string) }
  input "p330" { type = optional(string) }
  input "p331" { type = optional(string) }
  input "p332" { type = optional(string) }
  input "p333" { type = optional(string) }
  input "p334" { type = optional(string) }
  input "p335" { type = optional(string) }
  input "p336" { type = optional(string) }
  input "p337" { type = optional(string) }
  input "p338" { type = optional(string) }
  input "p339" { type = optional(string) }
  input "p34" { type = optional(string) }
  input "p340" { type = optional(string) }
  input "p341" { type = optional(string) }
  input "p342" { type = optional(string) }
  input "p343" { type = optional(string) }
  input "p344" { type = optional(string) }
  input "p345" { type = optional(string) }
  input "p346" { type = optional(string) }
  input "p347" { type = optional(string) }
  input "p348" { type = optional(string) }
  input "p349" { type = optional(string) }
  input "p35" { type = optional(string) }
  input "p350" { type = optional(string) }
  input "p351" { type = optional(string) }
  input "p352" { type = optional(string) }
  input "p353" { type = optional(string) }
  input "p354" { type = optional(string) }
  input "p355" { type = optional(string) }
  input "p356" { type = optional(string) }
  input "p357" { type = optional(string) }
  input "p358" { type = optional(string) }
  input "p359" { type = optional(string) }
  input "p36" { type = optional(string) }
  input "p360" { type = optional(string) }
  input "p361" { type = optional(string) }
  input "p362" { type = optional(string) }
  input "p363" { type = optional(string) }
  input "p364" { type = optional(string) }
  input "p365" { type = optional(string) }
  input "p366" { type = optional(string) }
  input "p367" { type = optional(string) }
  input "p368" { type = optional(string) }
  input "p369" { type = optional(string) }
  input "p37" { type = optional(string) }
  input "p370" { type = optional(string) }
  input "p371" { type = optional(string) }
  input "p372" { type = optional(string) }
  input "p373" { type = optional(string) }
  input "p374" { type = optional(string) }
  input "p375" { type = optional(string) }
  input "p376" { type = optional(string) }
  input "p377" { type = optional(string) }
  input "p378" { type = optional(string) }
  input "p379" { type = optional(string) }
  input "p38" { type = optional(string) }
  input "p380" { type = optional(string) }
  input "p381" { type = optional(string) }
  input "p382" { type = optional(string) }
  input "p383" { type = optional(string) }
  input "p384" { type = optional(string) }
  input "p385" { type = optional(string) }
  input "p386" { type = optional(string) }
  input "p387" { type = optional(string) }
  input "p388" { type = optional(string) }
  input "p389" { type = optional(string) }
  input "p39" { type = optional(string) }
  input "p390" { type = optional(string) }
  input "p391" { type = optional(string) }
  input "p392" { type = optional(string) }
  input "p393" { type = optional(string) }
  input "p394" { type = optional(string) }
  input "p395" { type = optional(string) }
  input "p396" { type = optional(string) }
  input "p397" { type = optional(string) }
  input "p398" { type = optional(string) }
  input "p399" { type = optional(string) }
  input "p4" { type = optional(string) }
  input "p40" { type = optional(string) }
  input "p400" { type = optional(string) }
  input "p401" { type = optional(string) }
  input "p402" { type = optional(string) }
  input "p403" { type = optional(string) }
  input "p404" { type = optional(string) }
  input "p405" { type = optional(string) }
  input "p406" { type = optional(string) }
  input "p407" { type = optional(string) }
  input "p408" { type = optional(string) }
  input "p409" { type = optional(string) }
  input "p41" { type = optional(string) }
  input "p410" { type = optional(string) }
  input "p411" { type = optional(string) }
  input "p412" { type = optional(string) }
  input "p413" { type = optional(string) }
  input "p414" { type = optional(string) }
  input "p415" { type = optional(string) }
  input "p416" { type = optional(string) }
  input "p417" { type = optional(string) }
  input "p418" { type = optional(string) }
  input "p419" { type = optional(string) }
  input "p42" { type = optional(string) }
  input "p420" { type = optional(string) }
  input "p421" { type = optional(string) }
  input "p422" { type = optional(string) }
  input "p423" { type = optional(string) }
  input "p424" { type = optional(string) }
  input "p425" { type = optional(string) }
  input "p426" { type = optional(string) }
  input "p427" { type = optional(string) }
  input "p428" { type = optional(string) }
  input "p429" { type = optional(string) }
  input "p43" { type = optional(string) }
  input "p430" { type = optional(string) }
  input "p431" { type = optional(string) }
  input "p432" { type = optional(string) }
  input "p433" { type = optional(string) }
  input "p434" { type = optional(string) }
  input "p435" { type = optional(string) }
  input "p436" { type = optional(string) }
  input "p437" { type = optional(string) }
  input "p438" { type = optional(string) }
  input "p439" { type = optional(string) }
  input "p44" { type = optional(string) }
  input "p440" { type = optional(string) }
  input "p441" { type = optional(string) }
  input "p442" { type = optional(string) }
  input "p443" { type = optional(string) }
  input "p444" { type = optional(string) }
  input "p445" { type = optional(string) }
  input "p446" { type = optional(string) }
  input "p447" { type = optional(string) }
  input "p448" { type = optional(string) }
  input "p449" { type = optional(string) }
  input "p45" { type = optional(string) }
  input "p450" { type = optional(string) }
  input "p451" { type = optional(string) }
  input "p452" { type = optional(string) }
  input "p453" { type = optional(string) }
  input "p454" { type = optional(string) }
  input "p455" { type = optional(string) }
  input "p456" { type = optional(string) }
  input "p457" { type = optional(string) }
  input "p458" { type = optional(string) }
  input "p459" { type = optional(string) }
  input "p46" { type = optional(string) }
  input "p460" { type = optional(string) }
  input "p461" { type = optional(string) }
  input "p462" { type = optional(string) }
  input "p463" { type = optional(string) }
  input "p464" { type = optional(string) }
  input "p465" { type = optional(string) }
  input "p466" { type = optional(string) }
  input "p467" { type = optional(string) }
  input "p468" { type = optional(string) }
  input "p469" { type = optional(string) }
  input "p47" { type = optional(string) }
  input "p470" { type = optional(string) }
  input "p471" { type = optional(string) }
  input "p472" { type = optional(string) }
  input "p473" { type = optional(string) }
  input "p474" { type = optional(string) }
  input "p475" { type = optional(string) }
  input "p476" { type = optional(string) }
  input "p477" { type = optional(string) }
  input "p478" { type = optional(string) }
  input "p479" { type = optional(string) }
  input "p48" { type = optional(string) }
  input "p480" { type = optional(string) }
  input "p481" { type = optional(string) }
  input "p482" { type = optional(string) }
  input "p483" { type = optional(string) }
  input "p484" { type = optional(string) }
  input "p485" { type = optional(string) }
  input "p486" { type = optional(string) }
  input "p487" { type = optional(string) }
  input "p488" { type = optional(string) }
  input "p489" { type = optional(string) }
  input "p49" { type = optional(string) }
  input "p490" { type = optional(string) }
  input "p491" { type = optional(string) }
  input "p492" { type = optional(string) }
  input "p493" { type = optional(string) }
  input "p494" { type = optional(string) }
  input "p495" { type = optional(string) }
  input "p496" { type = optional(string) }
  input "p497" { type = optional(string) }
  input "p498" { type = optional(string) }
  input "p499" { type = optional(string) }
  input "p5" { type = optional(string) }
  input "p50" { type = optional(string) }
  input "p500" { type = optional(string) }
  input "p501" { type = optional(string) }
  input "p502" { type = optional(string) }
  input "p503" { type = optional(string) }
  input "p504" { type = optional(string) }
  input "p505" { type = optional(string) }
  input "p506" { type = optional(string) }
  input "p507" { type = optional(string) }
  input "p508" { type = optional(string) }
  input "p509" { type = optional(string) }
  input "p51" { type = optional(string) }
  input "p510" { type = optional(string) }
  input "p511" { type = optional(string) }
  input "p512" { type = optional(string) }
  input "p513" { type = optional(string) }
  input "p514" { type = optional(string) }
  input "p515" { type = optional(string) }
  input "p516" { type = optional(string) }
  input "p517" { type = optional(string) }
  input "p518" { type = optional(string) }
  input "p519" { type = optional(string) }
  input "p52" { type = optional(string) }
  input "p520" { type = optional(string) }
  input "p521" { type = optional(string) }
  input "p522" { type = optional(string) }
  input "p523" { type = optional(string) }
  input "p524" { type = optional(string) }
  input "p525" { type = optional(string) }
  input "p526" { type = optional(string) }
  input "p527" { type = optional(string) }
  input "p528" { type = optional(string) }
  input "p529" { type = optional(string) }
  input "p53" { type = optional(string) }
  input "p530" { type = optional(string) }
  input "p531" { type = optional(string) }
  input "p532" { type = optional(string) }
  input "p533" { type = optional(string) }
  input "p534" { type = optional(string) }
  input "p535" { type = optional(string) }
  input "p536" { type = optional(string) }
  input "p537" { type = optional(string) }
  input "p538" { type = optional(string) }
  input "p539" { type = optional(string) }
  input "p54" { type = optional(string) }
  input "p540" { type = optional(string) }
  input "p541" { type = optional(string) }
  input "p542" { type = optional(string) }
  input "p543" { type = optional(string) }
  input "p544" { type = optional(string) }
  input "p545" { type = optional(string) }
  input "p546" { type = optional(string) }
  input "p547" { type = optional(string) }
  input "p548" { type = optional(string) }
  input "p549" { type = optional(string) }
  input "p55" { type = optional(string) }
  input "p550" { type = optional(string) }
  input "p551" { type = optional(string) }
  input "p552" { type = optional(string) }
  input "p553" { type = optional(string) }
  input "p554" { type = optional(string) }
  input "p555" { type = optional(string) }
  input "p556" { type = optional(string) }
  input "p557" { type = optional(string) }
  input "p558" { type = optional(string) }
  input "p559" { type = optional(string) }
  input "p56" { type = optional(string) }
  input "p560" { type = optional(string) }
  input "p561" { type = optional(string) }
  input "p562" { type = optional(string) }
  input "p563" { type = optional(string) }
  input "p564" { type = optional(string) }
  input "p565" { type = optional(string) }
  input "p566" { type = optional(string) }
  input "p567" { type = optional(string) }
  input "p568" { type = optional(string) }
  input "p569" { type = optional(string) }
  input "p57" { type = optional(string) }
  input "p570" { type = optional(string) }
  input "p571" { type = optional(string) }
  input "p572" { type = optional(string) }
  input "p573" { type = optional(string) }
  input "p574" { type = optional(string) }
  input "p575" { type = optional(string) }
  input "p576" { type = optional(string) }
  input "p577" { type = optional(string) }
  input "p578" { type = optional(string) }
  input "p579" { type = optional(string) }
  input "p58" { type = optional(string) }
  input "p580" { type = optional(string) }
  input "p581" { type = optional(string) }
  input "p582" { type = optional(string) }
  input "p583" { type = optional(string) }
  input "p584" { type = optional(string) }
  input "p585" { type = optional(string) }
  input "p586" { type = optional(string) }
  input "p587" { type = optional(string) }
  input "p588" { type = optional(string) }
  input "p589" { type = optional(string) }
  input "p59" { type = optional(string) }
  input "p590" { type = optional(string) }
  input "p591" { type = optional(string) }
  input "p592" { type = optional(string) }
  input "p593" { type = optional(string) }
  input "p594" { type = optional(string) }
  input "p595" { type = optional(string) }
  input "p596" { type = optional(string) }
  input "p597" { type = optional(string) }
  input "p598" { type = optional(string) }
  input "p599" { type = optional(string) }
  input "p6" { type = optional(string) }
  input "p60" { type = optional(string) }
  input "p600" { type = optional(string) }
  input "p601" { type = optional(string) }
  input "p602" { type = optional(string) }
  input "p603" { type = optional(string) }
  input "p604" { type = optional(string) }
  input "p605" { type = optional(string) }
  input "p606" { type = optional(string) }
  input "p607" { type = optional(string) }
  input "p608" { type = optional(string) }
  input "p609" { type = optional(string) }
  input "p61" { type = optional(string) }
  input "p610" { type = optional(string) }
  input "p611" { type = optional(string) }
  input "p612" { type = optional(string) }
  input "p613" { type = optional(string) }
  input "p614" { type = optional(string) }
  input "p615" { type = optional(string) }
  input "p616" { type = optional(string) }
  input "p617" { type = optional(string) }
  input "p618" { type = optional(string) }
  input "p619" { type = optional(string) }
  input "p62" { type = optional(string) }
  input "p620" { type = optional(string) }
  input "p621" { type = optional(string) }
  input "p622" { type = optional(string) }
  input "p623" { type = optional(string) }
  input "p624" { type = optional(string) }
  input "p625" { type = optional(string) }
  input "p626" { type = optional(string) }
  input "p627" { type = optional(string) }
  input "p628" { type = optional(string) }
  input "p629" { type = optional(string) }
  input "p63" { type = optional(string) }
  input "p630" { type = optional(string) }
  input "p631" { type = optional(string) }
  input "p632" { type = optional(string) }
  input "p633" { type = optional(string) }
  input "p634" { type = optional(string) }
  input "p635" { type = optional(string) }
  input "p636" { type = optional(string) }
  input "p637" { type = optional(string) }
  input "p638" { type = optional(string) }
  input "p639" { type = optional(string) }
  input "p64" { type = optional(string) }
  input "p640" { type = optional(string) }
  input "p641" { type = optional(string) }
  input "p642" { type = optional(string) }
  input "p643" { type = optional(string) }
  input "p644" { type = optional(string) }
  input "p645" { type = optional(string) }
  input "p646" { type = optional(string) }
  input "p647" { type = optional(string) }
  input "p648" { type = optional(string) }
  input "p649" { type = optional(string) }
  input "p65" { type = optional(string) }
  input "p650" { type = optional(string) }
  input "p651" { type = optional(string) }
  input "p652" { type = optional(string) }
  input "p653" { type = optional(string) }
  input "p654" { type = optional(string) }
  input "p655" { type = optional(string) }
  input "p656" { type = optional(string) }
  input "p657" { type = optional(string) }
  input "p658" { type = optional(string) }
  input "p659" { type = optional(string) }
  input "p66" { type = optional(string) }
  input "p660" { type = optional(string) }
  input "p661" { type = optional(string) }
  input "p662" { type = optional(string) }
  input "p663" { type = optional(string) }
  input "p664" { type = optional(string) }
  input "p665" { type = optional(string) }
  input "p666" { type = optional(string) }
  input "p667" { type = optional(string) }
  input "p668" { type = optional(string) }
  input "p669" { type = optional(string) }
  input "p67" { type = optional(string) }
  input "p670" { type = optional(string) }
  input "p671" { type = optional(string) }
  input "p672" { type = optional(string) }
  input "p673" { type = optional(string) }
  input "p674" { type = optional(string) }
  input "p675" { type = optional(string) }
  input "p676" { type = optional(string) }
  input "p677" { type = optional(string) }
  input "p678" { type = optional(string) }
  input "p679" { type = optional(string) }
  input "p68" { type = optional(string) }
  input "p680" { type = optional(string) }
  input "p681" { type = optional(string) }
  input "p682" { type = optional(string) }
  input "p683" { type = optional(string) }
  input "p684" { type = optional(string) }
  input "p685" { type = optional(string) }
  input "p686" { type = optional(string) }
  input "p687" { type = optional(string) }
  input "p688" { type = optional(string) }
  input "p689" { type = optional(string) }
  input "p69" { type = optional(string) }
  input "p690" { type = optional(string) }
  input "p691" { type = optional(string) }
  input "p692" { type = optional(string) }
  input "p693" { type = optional(string) }
  input "p694" { type = optional(string) }
  input "p695" { type = optional(string) }
  input "p696" { type = optional(string) }
  input "p697" { type = optional(string) }
  input "p698" { type = optional(string) }
  input "p699" { type = optional(string) }
  input "p7" { type = optional(string) }
  input "p70" { type = optional(string) }
  input "p700" { type = optional(string) }
  input "p701" { type = optional(string) }
  input "p702" { type = optional(string) }
  input "p703" { type = optional(string) }
  input "p704" { type = optional(string) }
  input "p705" { type = optional(string) }
  input "p706" { type = optional(string) }
  input "p707" { type = optional(string) }
  input "p708" { type = optional(string) }
  input "p709" { type = optional(string) }
  input "p71" { type = optional(string) }
  input "p710" { type = optional(string) }
  input "p711" { type = optional(string) }
  input "p712" { type = optional(string) }
  input "p713" { type = optional(string) }
  input "p714" { type = optional(string) }
  input "p715" { type = optional(string) }
  input "p716" { type = optional(string) }
  input "p717" { type = optional(string) }
  input "p718" { type = optional(string) }
  input "p719" { type = optional(string) }
  input "p72" { type = optional(string) }
  input "p720" { type = optional(string) }
  input "p721" { type = optional(string) }
  input "p722" { type = optional(string) }
  input "p723" { type = optional(string) }
  input "p724" { type = optional(string) }
  input "p725" { type = optional(string) }
  input "p726" { type = optional(string) }
  input "p727" { type = optional(string) }
  input "p728" { type = optional(string) }
  input "p729" { type = optional(string) }
  input "p73" { type = optional(string) }
  input "p730" { type = optional(string) }
  input "p731" { type = optional(string) }
  input "p732" { type = optional(string) }
  input "p733" { type = optional(string) }
  input "p734" { type = optional(string) }
  input "p735" { type = optional(string) }
  input "p736" { type = optional(string) }
  input "p737" { type = optional(string) }
  input "p738" { type = optional(string) }
  input "p739" { type = optional(string) }
  input "p74" { type = optional(string) }
  input "p740" { type = optional(string) }
  input "p741" { type = optional(string) }
  input "p742" { type = optional(string) }
  input "p743" { type = optional(string) }
  input "p744" { type = optional(string) }
  input "p745" { type = optional(string) }
  input "p746" { type = optional(string) }
  input "p747" { type = optional(string) }
  input "p748" { type = optional(string) }
  input "p749" { type = optional(string) }
  input "p75" { type = optional(string) }
  input "p750" { type = optional(string) }
  input "p751" { type = optional(string) }
  input "p752" { type = optional(string) }
  input "p753" { type = optional(string) }
  input "p754" { type = optional(string) }
  input "p755" { type = optional(string) }
  input "p756" { type = optional(string) }
  input "p757" { type = optional(string) }
  input "p758" { type = optional(string) }
  input "p759" { type = optional(string) }
  input "p76" { type = optional(string) }
  input "p760" { type = optional(string) }
  input "p761" { type = optional(string) }
  input "p762" { type = optional(string) }
  input "p763" { type = optional(string) }
  input "p764" { type = optional(string) }
  input "p765" { type = optional(string) }
  input "p766" { type = optional(string) }
  input "p767" { type = optional(string) }
  input "p768" { type = optional(string) }
  input "p769" { type = optional(string) }
  input "p77" { type = optional(string) }
  input "p770" { type = optional(string) }
  input "p771" { type = optional(string) }
  input "p772" { type = optional(string) }
  input "p773" { type = optional(string) }
  input "p774" { type = optional(string) }
  input "p775" { type = optional(string) }
  input "p776" { type = optional(string) }
  input "p777" { type = optional(string) }
  input "p778" { type = optional(string) }
  input "p779" { type = optional(string) }
  input "p78" { type = optional(string) }
  input "p780" { type = optional(string) }
  input "p781" { type = optional(string) }
  input "p782" { type = optional(string) }
  input "p783" { type = optional(string) }
  input "p784" { type = optional(string) }
  input "p785" { type = optional(string) }
  input "p786" { type = optional(string) }
  input "p787" { type = optional(string) }
  input "p788" { type = optional(string) }
  input "p789" { type = optional(string) }
  input "p79" { type = optional(string) }
  input "p790" { type = optional(string) }
  input "p791" { type = optional(string) }
  input "p792" { type = optional(string) }
  input "p793" { type = optional(string) }
  input "p794" { type = optional(string) }
  input "p795" { type = optional(string) }
  input "p796" { type = optional(string) }
  input "p797" { type = optional(string) }
  input "p798" { type = optional(string) }
  input "p799" { type = optional(string) }
  input "p8" { type = optional(string) }
  input "p80" { type = optional(string) }
  input "p81" { type = optional(string) }
  input "p82" { type = optional(string) }
  input "p83" { type = optional(string) }
  input "p84" { type = optional(string) }
  input "p85" { type = optional(string) }
  input "p86" { type = optional(string) }
  input "p87" { type = optional(string) }
  input "p88" { type = optional(string) }
  input "p89" { type = optional(string) }
  input "p9" { type = optional(string) }
  input "p90" { type = optional(string) }
  input "p91" { type = optional(string) }
  input "p92" { type = optional(string) }
  input "p93" { type = optional(string) }
  input "p94" { type = optional(string) }
  input "p95" { type = optional(string) }
  input "p96" { type = optional(string) }
  input "p97" { type = optional(string) }
  input "p98" { type = optional(string) }
  input "p99" { type = optional(string) }
  mcp "h_schema" {
    call = "wide"
  }
}

# defref_draft7 of h_schema
tool "defref_draft7" {
  description = "Does it."
  input "a" { type = optional(string({ min_length = 2 })) }
  mcp "h_schema" {
    call = "defref_draft7"
  }
}

# anchor of h_schema
tool "anchor" {
  description = "Does it."
  input "a" { type = optional(any) }
  mcp "h_schema" {
    call = "anchor"
  }
}

# idref of h_schema
tool "idref" {
  description = "Does it."
  input "a" { type = optional(any) }
  mcp "h_schema" {
    call = "idref"
  }
}

# uniq of h_schema
tool "uniq" {
  description = "Does it."
  input "a" { type = optional(set(string, { min_items = 2 })) }
  mcp "h_schema" {
    call = "uniq"
  }
}

# defbad of h_schema
tool "defbad" {
  description = "Does it."
  input "a" { type = optional(integer) }
  input "b" { type = optional(string({ max_length = 2 })) }
  mcp "h_schema" {
    call = "defbad"
  }
}

# xmcp of h_schema
tool "xmcp" {
  description = "Does it."
  input "region" { type = string }
  mcp "h_schema" {
    call = "xmcp"
  }
}

# outrec of h_schema
tool "outrec" {
  description = "Does it."
  mcp "h_schema" {
    call = "outrec"
  }
  returns = object({
    n = optional(any("An object with n."))
  })
}

# outarr of h_schema
tool "outarr" {
  description = "Does it."
  mcp "h_schema" {
    call = "outarr"
  }
  returns = list(string)
}

# propnames of h_schema
tool "propnames" {
  description = "Does it."
  mcp "h_schema" {
    call = "propnames"
  }
}

# depreq of h_schema
tool "depreq" {
  description = "Does it."
  input "a" { type = optional(string) }
  input "b" { type = optional(string) }
  mcp "h_schema" {
    call = "depreq"
  }
}

# uneval of h_schema
tool "uneval" {
  description = "Does it."
  input "a" { type = optional(string) }
  mcp "h_schema" {
    call = "uneval"
  }
}

# dup of h_schema
tool "dup" {
  description = "Does it."
  mcp "h_schema" {
    call = "dup"
  }
}
