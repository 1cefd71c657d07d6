create view reach1 as
with recursive r(x, y) as (
    select x, y from edge where x in (from source)
    union
    select r.x, edge.y from r join edge on r.y = edge.x
)
from r;
