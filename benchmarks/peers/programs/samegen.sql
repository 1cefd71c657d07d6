create view samegen as
with recursive r(x, y) as (
    select a.child, b.child from up a join up b on a.parent = b.parent
    union
    select a.child, b.child from r join up a on a.parent = r.x join up b on b.parent = r.y
)
from r;
