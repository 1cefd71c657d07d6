Creator "somebody"
graph [
  directed 1
  comment "shares &amp; more"
  node [ id 1 label "Ann" age 41 ]
  node [ id 2 label "Caf&#233;" age 7.5 ]
  node [
    id 3
    label "Adler"
    place [ x 1 y 2 ]
  ]
  edge [ source 1 target 2 weight 0.5 ]
  edge [
    source 2
    target 3
    weight 1e-3
    graphics [ width 2 ]
  ]
]
