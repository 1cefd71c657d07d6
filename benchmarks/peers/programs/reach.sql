create view reach as
with recursive r(x, y) as (
    select x, y from edge
    union
    select r.x, edge.y from r join edge on r.y = edge.x
)
from r;
