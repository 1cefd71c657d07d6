-- Both relations in one, and a loop over it: twice as fast as a recursive query by USING KEY.
create table pointer as select false as heap, v as x, o as y from alloc;
create table delta as from pointer;
create view pointsto as select x, y from pointer where not heap;
-- WHILE delta HAS ROWS
create table fresh as
with candidate(heap, x, y) as (
    select false, assign.v, d.y
    from delta d join assign on assign.u = d.x
    where not d.heap
    union
    select false, load.v, h.y
    from delta d join load on load.p = d.x join pointer h on h.heap and h.x = d.y
    where not d.heap
    union
    select false, load.v, d.y
    from delta d join pointer p on not p.heap and p.y = d.x join load on load.p = p.x
    where d.heap
    union
    select true, d.y, u.y
    from delta d join store on store.p = d.x join pointer u on not u.heap and u.x = store.u
    where not d.heap
    union
    select true, p.y, d.y
    from delta d join store on store.u = d.x join pointer p on not p.heap and p.x = store.p
    where not d.heap
)
from candidate c
where not exists (from pointer known where known.heap = c.heap and known.x = c.x and known.y = c.y);
drop table delta;
alter table fresh rename to delta;
insert into pointer from delta;
